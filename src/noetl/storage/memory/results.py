"""Results in memory, by their sha256."""

from collections.abc import Sequence

from noetl.engine.size import Blob


class MemoryResults:
    def __init__(self) -> None:
        self._blobs: dict[str, bytes] = {}

    async def put(self, blobs: Sequence[Blob]) -> None:
        self._blobs |= {blob.sha256: blob.data for blob in blobs}

    async def get(self, sha256: str) -> bytes | None:
        return self._blobs.get(sha256)
