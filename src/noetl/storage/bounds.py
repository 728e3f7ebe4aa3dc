"""Bounds that all stores keep."""

CHUNKS_MAX = 10_000
"""Chunks of printed text that are kept for one execution."""
