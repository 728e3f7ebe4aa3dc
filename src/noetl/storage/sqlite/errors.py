"""What can be wrong with a database file, told in words: what was expected, what was found, what to do next."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import apsw

from noetl.ports import Unavailable
from noetl.storage.errors import (
    Damaged,
    DiskFailed,
    DiskFull,
    Gone,
    Locked,
    NewerSchema,
    NoAccess,
    NotOurs,
    ReadOnly,
    StorageError,
)

Trouble = StorageError | Unavailable

_ADVICE: Mapping[type[apsw.Error], tuple[type[Trouble], str]] = {
    apsw.BusyError: (Locked, "is held by another process; try again, or end the process that holds it"),
    apsw.LockedError: (Locked, "is held by another process; try again, or end the process that holds it"),
    apsw.ProtocolError: (Locked, "is held by other processes; try again"),
    apsw.FullError: (DiskFull, "cannot grow: the disk is full, or a limit is reached; free space and try again"),
    apsw.IOError: (DiskFailed, "cannot be read or written; look at the disk, its space and the limits of this process"),
    apsw.NoMemError: (DiskFailed, "needs more memory than there is; free some and try again"),
    apsw.ReadOnlyError: (ReadOnly, "cannot be written; give this user write permission to the file and its folder"),
    apsw.PermissionsError: (NoAccess, "cannot be opened; give this user permission to the file and its folder"),
    apsw.AuthError: (NoAccess, "cannot be opened; give this user permission to the file and its folder"),
    apsw.CantOpenError: (NoAccess, "cannot be opened; it must be a file in a folder that this user may write to"),
    apsw.CorruptError: (Damaged, "is damaged; move it away or restore a backup. Nothing in it was changed by this"),
    apsw.NotADBError: (Damaged, "is not a database, or is damaged; move it away or name another file"),
}


@contextmanager
def told_of(path: str) -> Iterator[None]:
    """What SQLite says about the file, in our words. Other errors of SQLite are bugs and stay what they are."""
    try:
        yield
    except tuple(_ADVICE) as error:
        raise _told(path, error) from error


def _told(path: str, error: apsw.Error) -> Trouble:
    kind, advice = _ADVICE[next(known for known in _ADVICE if isinstance(error, known))]
    return kind(f"the database {path} {advice} (SQLite: {error})")


def no_file(path: str, error: OSError) -> NoAccess:
    return NoAccess(f"the database {path} cannot be created: {error.strerror}; name a file in a folder of yours")


def too_long(path: str, size: int, size_max: int) -> NoAccess:
    return NoAccess(
        f"the database {path} cannot be opened: its path has {size} bytes, and SQLite takes {size_max}; "
        "name a folder with a shorter path"
    )


def gone(path: str) -> Gone:
    return Gone(
        f"the database {path} is gone: it was removed, moved or replaced while it was in use, and what is recorded "
        "would be lost; bring it back"
    )


def newer(path: str, found: int, known: int) -> NewerSchema:
    return NewerSchema(
        f"the database {path} has schema {found}, and this version of NoETL knows schemas up to {known}; "
        "use the NoETL that wrote it or a newer one, or name another file"
    )


def not_ours(path: str) -> NotOurs:
    return NotOurs(f"{path} is a database of another program: it has tables, but none of NoETL; name another file")
