"""Jinja2 syntax to safe, bounded evaluators. Pure: no I/O, no clock, no randomness."""
