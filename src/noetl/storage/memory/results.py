"""Results in memory, by their sha256."""

from collections.abc import AsyncIterable, AsyncIterator, Sequence
from hashlib import sha256 as digest

from noetl.engine.size import Blob
from noetl.ports import Deposit


class MemoryResults:
    def __init__(self) -> None:
        self._blobs: dict[str, bytes] = {}

    async def put(self, blobs: Sequence[Blob]) -> None:
        self._blobs |= {blob.sha256: blob.data for blob in blobs}

    async def put_stream(self, chunks: AsyncIterable[bytes]) -> Deposit:
        data = b"".join([chunk async for chunk in chunks])
        sha256 = digest(data).hexdigest()
        self._blobs[sha256] = data
        return Deposit(sha256, len(data))

    async def get(self, sha256: str) -> bytes | None:
        return self._blobs.get(sha256)

    async def open(self, sha256: str) -> AsyncIterator[bytes] | None:
        data = self._blobs.get(sha256)
        return _once(data) if data is not None else None


async def _once(data: bytes) -> AsyncIterator[bytes]:
    yield data
