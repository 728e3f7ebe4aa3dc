"""Results as files under their sha256: durable when answered, checked when read, streamed where they are large."""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TypeVar

from noetl.engine.size import Blob
from noetl.ports import Collected, Damaged, Deposit
from noetl.storage.folders import sync
from noetl.storage.health import Health
from noetl.storage.results.collecting import collect
from noetl.storage.results.folder import Folder, told_of
from noetl.storage.results.objects import Torn, Writing, read

T = TypeVar("T")

THREADS = 2


class FileResults:
    """The folder is made on first use. `health` is told how it goes with what a run needs."""

    def __init__(self, root: Path, *, health: Health | None = None) -> None:
        self._folder = Folder(root)
        self._health = health
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="noetl-results")
        self._is_created = False

    async def put(self, blobs: Sequence[Blob]) -> None:
        with self._watching("put"):
            await self._do(lambda: _put(self._folder, blobs))

    async def put_stream(self, chunks: AsyncIterable[bytes]) -> Deposit:
        writing = await self._do(lambda: Writing(self._folder))
        try:
            async for chunk in chunks:
                await self._do(lambda chunk=chunk: writing.write(chunk))  # type: ignore[misc]
            return await self._do(lambda: _finish(self._folder, writing))
        finally:
            await self._do(writing.give_up)

    async def get(self, sha256: str) -> bytes | None:
        with self._watching("get"):
            return await self._do(lambda: _get(self._folder, sha256))

    async def open(self, sha256: str) -> AsyncIterator[bytes] | None:
        place = await self._do(lambda: _found(self._folder, sha256))
        return self._pieces(place) if place is not None else None

    async def touch(self, names: Collection[str]) -> None:
        with self._watching("put"):
            await self._do(lambda: _touch(self._folder, names))

    async def collect(self, prefix: str, held: Collection[str], put_before: float) -> Collected:
        with self._watching(""):
            return await self._do(lambda: collect(self._folder, prefix, held, put_before))

    async def close(self) -> None:
        await asyncio.get_running_loop().run_in_executor(None, self._threads.shutdown)

    def _watching(self, doing: str) -> AbstractContextManager[None]:
        return self._health.watching(doing) if self._health is not None else nullcontext()

    async def _pieces(self, place: Path) -> AsyncIterator[bytes]:
        pieces = read(place)
        try:
            while (chunk := await self._do(lambda: next(pieces, None))) is not None:
                yield chunk
        except Torn as torn:
            await self._do(lambda: self._folder.put_aside(place))
            raise _damaged(place.name) from torn

    async def _do(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._told, work)

    def _told(self, work: Callable[[], T]) -> T:
        with told_of(self._folder.root):
            if not self._is_created:
                self._folder.create()
                self._is_created = True
            return work()


def _put(folder: Folder, blobs: Sequence[Blob]) -> None:
    with folder.lock(is_shared=True):
        for blob in blobs:
            if not _is_kept(folder, blob.sha256):
                _write(folder, blob.data)
        for part in {folder.root / blob.sha256[:2] for blob in blobs}:
            sync(part)


def _is_kept(folder: Folder, sha256: str) -> bool:
    """Whether it is there and whole; if so it counts as new. What is damaged makes room for what is put."""
    place = folder.find(sha256)
    return place is not None and _is_whole(folder, place) and folder.touch(sha256)


def _is_whole(folder: Folder, place: Path) -> bool:
    try:
        for _ in read(place):
            continue
    except FileNotFoundError:
        return False
    except Torn:
        folder.put_aside(place)
        return False
    return True


def _touch(folder: Folder, names: Collection[str]) -> None:
    with folder.lock(is_shared=True):
        for name in names:
            folder.touch(name)


def _write(folder: Folder, data: bytes) -> None:
    writing = Writing(folder)
    try:
        writing.write(data)
        writing.finish()
    finally:
        writing.give_up()


def _finish(folder: Folder, writing: Writing) -> Deposit:
    with folder.lock(is_shared=True):
        deposit = writing.finish()
        sync(folder.root / deposit.sha256[:2])
    return deposit


def _get(folder: Folder, sha256: str) -> bytes | None:
    place = _found(folder, sha256)
    if place is None:
        return None
    try:
        return b"".join(read(place))
    except FileNotFoundError:
        return None
    except Torn as torn:
        folder.put_aside(place)
        raise _damaged(place.name) from torn


def _found(folder: Folder, sha256: str) -> Path | None:
    """`Damaged` where it was found to be so earlier, and nobody has put it again."""
    place = folder.find(sha256)
    if place is None and folder.is_aside(sha256):
        raise _damaged(sha256)
    return place


def _damaged(name: str) -> Damaged:
    return Damaged(f"the stored data {name} is damaged, and was put aside for you to look at")
