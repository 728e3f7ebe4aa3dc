"""How diagnostics are printed: one file a format."""
