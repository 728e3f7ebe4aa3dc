"""Completion scripts: one file a shell."""
