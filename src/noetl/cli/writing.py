"""Files written so that a crash leaves the old or the new one, never a part of it."""

import os
import stat
import tempfile
from contextlib import suppress

from noetl.cli.console import Stopped
from noetl.cli.files import reason


def replace_file(path: str, data: bytes) -> None:
    """Put new contents in the place of a file; its permissions stay."""
    if os.path.islink(path):
        raise Stopped(f"noetl: cannot write {path}: it is a link; name {os.path.realpath(path)} instead")
    try:
        mode = os.stat(path).st_mode
        if not stat.S_ISREG(mode):
            raise Stopped(f"noetl: cannot write {path}: it is not a regular file")
        _swap(path, data, stat.S_IMODE(mode))
    except OSError as error:
        raise _unwritable(path, error) from None


def write_result(path: str, data: bytes) -> None:
    """Write what a person asked for to the place they named, a device such as /dev/stdout included."""
    try:
        with open(path, "wb") as file:
            file.write(data)
    except OSError as error:
        raise _unwritable(path, error) from None


def _unwritable(path: str, error: OSError) -> Stopped:
    return Stopped(f"noetl: cannot write {path}: {reason(error)}")


def _swap(path: str, data: bytes, mode: int) -> None:
    folder = os.path.dirname(path) or "."
    handle, temporary = tempfile.mkstemp(prefix=".noetl-", suffix=".tmp", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            os.fchmod(handle, mode)
            file.write(data)
            file.flush()
            os.fsync(handle)
        os.replace(temporary, path)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
    _sync_folder(folder)


def _sync_folder(folder: str) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
