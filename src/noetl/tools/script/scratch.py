"""Folders for the files of single runs, all in one folder of this process, of which nothing is left for good.

A process that is killed cannot tidy up. Its folder is known by a file whose lock it held as long as it lived: whoever
makes such a folder next removes those whose locks are free. Numbers of processes would not tell, for containers that
share a file system have numbers of their own.
"""

import fcntl
import os
import shutil
import stat
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

PREFIX = "noetl-"
LOCK = ".noetl-lock"
"""Only a folder with this file in it is one of ours: others may have names of their own that begin alike."""

MAKE_TRIES_MAX = 3
"""How often a folder is made that is removed at once: somebody swept between its making and its lock."""


class Scratch:
    """`around` is where temporary files go, such as `$TMPDIR`."""

    def __init__(self, around: Path) -> None:
        self._around = around
        self._own: _Own | None = None
        self._numbers = count(1)

    @contextmanager
    def folder(self) -> Iterator[Path]:
        """A new, empty folder for one run. With all that is in it, it is gone afterwards."""
        found = self._new_folder()
        try:
            yield found
        finally:
            shutil.rmtree(found, ignore_errors=True)

    def close(self) -> None:
        if self._own is not None:
            self._own.remove()
            self._own = None

    def _new_folder(self) -> Path:
        if self._own is None or not self._own.path.is_dir():  # programs that clean up may take what is old
            self.close()
            self._own = _Own(self._around)
            sweep(self._around, os.getuid())
        found = self._own.path / str(next(self._numbers))
        found.mkdir()
        return found


class _Own:
    """The folder of this process, and the lock that says so. Both are gone at the latest when the process ends."""

    def __init__(self, around: Path) -> None:
        self.path, lock = _made(around)
        self.remove = weakref.finalize(self, _remove, self.path, lock)


def sweep(around: Path, user: int) -> None:
    """Removes the folders of processes of a user that are gone."""
    for path in around.glob(f"{PREFIX}*"):
        with suppress(OSError):  # one that is none of ours, or that another sweeps
            lock = _lock(path) if _is_of(user, path) else None
            if lock is not None:
                _remove(path, lock)


def _made(around: Path) -> tuple[Path, int]:
    for _ in range(MAKE_TRIES_MAX):
        path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=around))
        with suppress(FileNotFoundError):
            lock = _lock(path, os.O_CREAT)
            if lock is not None:
                return path, lock
    raise OSError(f"no folder can be made in {around}: each is removed at once")


def _lock(path: Path, flags: int = 0) -> int | None:
    """The lock of a folder, as an open file, or None where another holds it."""
    file = os.open(path / LOCK, os.O_RDWR | os.O_NOFOLLOW | flags, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(file), os.stat(path / LOCK)):
            return file
    except BlockingIOError:
        pass
    except OSError:
        os.close(file)
        raise
    os.close(file)
    return None


def _is_of(user: int, path: Path) -> bool:
    found = path.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == user


def _remove(path: Path, lock: int) -> None:
    shutil.rmtree(path, ignore_errors=True)
    os.close(lock)
