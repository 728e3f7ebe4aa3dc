"""Results in memory, by their sha256."""

from collections.abc import AsyncIterable, AsyncIterator, Collection, Sequence
from hashlib import sha256 as digest

from noetl.engine.size import Blob
from noetl.ports import Clock, Collected, Deposit


class MemoryResults:
    """Without a clock nothing in it grows old."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock
        self._blobs: dict[str, bytes] = {}
        self._put_at: dict[str, float] = {}

    async def put(self, blobs: Sequence[Blob]) -> None:
        for blob in blobs:
            self._keep(blob.sha256, blob.data)

    async def put_stream(self, chunks: AsyncIterable[bytes]) -> Deposit:
        data = b"".join([chunk async for chunk in chunks])
        sha256 = digest(data).hexdigest()
        self._keep(sha256, data)
        return Deposit(sha256, len(data))

    async def get(self, sha256: str) -> bytes | None:
        return self._blobs.get(sha256)

    async def open(self, sha256: str) -> AsyncIterator[bytes] | None:
        data = self._blobs.get(sha256)
        return _once(data) if data is not None else None

    async def touch(self, names: Collection[str]) -> None:
        for name in self._blobs.keys() & set(names):
            self._keep(name, self._blobs[name])

    async def collect(self, prefix: str, held: Collection[str], put_before: float) -> Collected:
        old = [name for name, put_at in self._put_at.items() if put_at < put_before and name.startswith(prefix)]
        removed = [len(self._remove(name)) for name in old if name not in held]
        return Collected(len(removed), sum(removed))

    def _keep(self, sha256: str, data: bytes) -> None:
        """What is put again counts as new."""
        self._blobs[sha256] = data
        self._put_at[sha256] = self._clock.now() if self._clock is not None else float("inf")

    def _remove(self, sha256: str) -> bytes:
        del self._put_at[sha256]
        return self._blobs.pop(sha256)


async def _once(data: bytes) -> AsyncIterator[bytes]:
    yield data
