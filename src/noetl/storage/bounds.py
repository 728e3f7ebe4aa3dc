"""Bounds that all stores keep."""

import msgspec

from noetl.ports import LogChunk

CHUNKS_MAX = 50_000
"""Chunks of printed text that are kept for one execution."""

THE_REST = f"[what this execution printed from here on is not kept: it may print {CHUNKS_MAX} pieces]\n"


def kept(chunk: LogChunk, place: int) -> LogChunk | None:
    """What is kept of a chunk in that place among those of its execution. The last one says that there was more."""
    if place < CHUNKS_MAX:
        return chunk
    return msgspec.structs.replace(chunk, stream="stderr", text=THE_REST) if place == CHUNKS_MAX else None
