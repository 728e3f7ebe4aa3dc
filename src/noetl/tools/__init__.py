"""Tool kinds, one file each."""
