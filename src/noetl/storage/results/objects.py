"""One object at a time, piece by piece: written with its sha256, read and checked. Compressed where that helps."""

import os
import zlib
from collections.abc import Iterator
from hashlib import sha256 as digest
from pathlib import Path
from tempfile import mkstemp

from noetl.ports import Deposit
from noetl.storage.results.folder import COMPRESSED, NEW, Folder

CHUNK_BYTES = 256 * 1024
SAMPLE_BYTES = 64 * 1024
COMPRESS_BYTES_MIN = 1024
RATIO_MAX = 0.8
"""Compression is worth its time where a sample gets at least this small."""

LEVEL = 1
"""JSON gets to a quarter at three times the speed of the usual level, and then takes a sixth of the time to sync."""


class Writing:
    """A new object. Nobody sees it before `finish`, and what is not finished must be given up."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        handle, name = mkstemp(dir=folder.root / NEW)
        self._file = os.fdopen(handle, "wb", buffering=0)
        self._path = Path(name)
        self._digest = digest()
        self._size = 0
        self._pending = bytearray()
        self._packer: zlib._Compress | None = None
        self._is_decided = False
        self._is_settled = False

    def write(self, chunk: bytes) -> None:
        self._digest.update(chunk)
        self._size += len(chunk)
        self._pending += chunk
        if len(self._pending) >= SAMPLE_BYTES:
            self._flush()

    def finish(self) -> Deposit:
        """Written, synced, named, and its folder synced: then it is there for good."""
        self._flush()
        if self._packer is not None:
            self._put(self._packer.flush())
        os.fsync(self._file.fileno())
        self._file.close()
        sha256 = self._digest.hexdigest()
        self._folder.settle(self._path, sha256, is_compressed=self._packer is not None)
        self._is_settled = True
        return Deposit(sha256, self._size)

    def give_up(self) -> None:
        self._file.close()
        if not self._is_settled:
            self._path.unlink(missing_ok=True)

    def _flush(self) -> None:
        if not self._is_decided:
            self._is_decided = True
            self._packer = zlib.compressobj(LEVEL) if is_worth_it(bytes(self._pending)) else None
        self._put(self._packer.compress(self._pending) if self._packer is not None else bytes(self._pending))
        self._pending.clear()

    def _put(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[self._file.write(view) :]


def is_worth_it(data: bytes) -> bool:
    sample = data[:SAMPLE_BYTES]
    return len(sample) >= COMPRESS_BYTES_MIN and len(zlib.compress(sample, LEVEL)) <= RATIO_MAX * len(sample)


class Torn(Exception):
    """The bytes are not what their name says."""


def read(place: Path) -> Iterator[bytes]:
    """The bytes, piece by piece; `Torn` at the end where they are wrong."""
    found = digest()
    for chunk in _unpacked(place) if place.suffix == COMPRESSED else _raw(place):
        found.update(chunk)
        yield chunk
    if found.hexdigest() != place.name.removesuffix(COMPRESSED):
        raise Torn(place.name)


def _raw(place: Path) -> Iterator[bytes]:
    with place.open("rb", buffering=0) as file:
        while chunk := file.read(CHUNK_BYTES):
            yield chunk


def _unpacked(place: Path) -> Iterator[bytes]:
    """Never more than a piece at a time, however well it was compressed."""
    packer = zlib.decompressobj()
    try:
        for packed in _raw(place):
            left = packed
            while left:
                if chunk := packer.decompress(left, CHUNK_BYTES):
                    yield chunk
                left = packer.unconsumed_tail
        if chunk := packer.flush():
            yield chunk
    except zlib.error as error:
        raise Torn(place.name) from error
