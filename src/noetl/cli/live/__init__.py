"""A run while it runs: what a person wants to see of it, told as a live picture or as plain lines."""
