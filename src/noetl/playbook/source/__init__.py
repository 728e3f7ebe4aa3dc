"""Playbook text: bytes to a tree that knows its places, mistakes of YAML explained, and edits back into the text."""
