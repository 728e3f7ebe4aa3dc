"""The folder of results: where an object stands, and how it gets there so that it is whole or not there at all.

An object is `ab/abcd…`, or `ab/abcd….z` where it was worth compressing. New ones are written under `new`, and those
whose bytes are not what their name says are put aside under `damaged`.
"""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from noetl.storage.errors import DiskFailed, DiskFull, NoAccess, ReadOnly
from noetl.storage.folders import sync

COMPRESSED = ".z"
NEW = "new"
DAMAGED = "damaged"

_LOCK = "lock"
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_DENIED = {errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EEXIST, errno.EISDIR}


class Folder:
    def __init__(self, root: Path) -> None:
        self.root = root
        self._seen: set[Path] = set()

    def create(self) -> None:
        for folder in (self.root, self.root / NEW, self.root / DAMAGED):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def place(self, sha256: str, *, is_compressed: bool) -> Path:
        return self.root / sha256[:2] / f"{sha256}{COMPRESSED if is_compressed else ''}"

    def find(self, sha256: str) -> Path | None:
        places = (self.place(sha256, is_compressed=form) for form in (True, False))
        return next((place for place in places if place.exists()), None)

    def settle(self, new: Path, sha256: str, *, is_compressed: bool) -> None:
        """Gives a file that is written and synced its name. It is durable once its folder is synced."""
        place = self.place(sha256, is_compressed=is_compressed)
        place.parent.mkdir(mode=0o700, exist_ok=True)
        if place.parent not in self._seen:  # another process may have made it a moment ago, and the root too
            sync(self.root.parent)
            sync(self.root)
            self._seen.add(place.parent)
        new.replace(place)

    def touch(self, sha256: str) -> bool:
        """Whether it is there; if so it counts as new, so that nobody collects it."""
        place = self.find(sha256)
        if place is None:
            return False
        os.utime(place)
        return True

    def is_aside(self, sha256: str) -> bool:
        """Whether its bytes were found damaged."""
        return any((self.root / DAMAGED / f"{sha256}{end}").exists() for end in (COMPRESSED, ""))

    def put_aside(self, place: Path) -> None:
        with suppress(FileNotFoundError):
            place.replace(self.root / DAMAGED / place.name)

    @contextmanager
    def lock(self, *, is_shared: bool) -> Iterator[None]:
        """Those who put share it; who collects has it alone, so that nothing goes that someone has just found."""
        held = os.open(self.root / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(held, fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX)
            yield
        finally:
            os.close(held)


@contextmanager
def told_of(root: Path) -> Iterator[None]:
    """What the system says about the folder, in our words."""
    try:
        yield
    except OSError as error:
        raise _told(root, error) from error


def _told(root: Path, error: OSError) -> DiskFull | ReadOnly | NoAccess | DiskFailed:
    said = f"(the system says: {error.strerror})"
    if error.errno in _FULL:
        return DiskFull(f"the results in {root} cannot grow: the disk is full; free space and try again {said}")
    if error.errno == errno.EROFS:
        return ReadOnly(f"the results in {root} cannot be written; use a folder that can be written {said}")
    if error.errno in _DENIED:
        return NoAccess(f"the results in {root} cannot be used; give this user a folder of its own {said}")
    return DiskFailed(f"the results in {root} cannot be read or written; look at the disk {said}")
