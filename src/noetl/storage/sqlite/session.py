"""A connection that speaks in named queries, for one namespace."""

import os
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import TypeVar

import apsw
import msgspec

from noetl.storage.folders import make
from noetl.storage.sqlite.errors import no_file, too_long
from noetl.storage.sqlite.queries import query

T = TypeVar("T")
Value = str | bytes | int | float | None

PATH_BYTES_MAX = 504
"""SQLite takes 512, with what it adds to the name for its log."""

SIZES = (64, 16, 8, 6, 5, 4, 3, 2, 1)
"""So many rows are written by one statement. Each statement may wait for a busy interpreter, so they are few."""


class Session:
    def __init__(self, connection: apsw.Connection, namespace: str) -> None:
        self.connection = connection
        self.namespace = namespace

    def all(self, name: str, row: type[T], *bindings: Value) -> list[T]:
        found = self.connection.execute(query(name), (self.namespace, *bindings)).fetchall()
        return [msgspec.convert(each, row) for each in found]

    def first(self, name: str, row: type[T], *bindings: Value) -> T | None:
        return next(iter(self.all(name, row, *bindings)), None)

    def run(self, name: str, *bindings: Value) -> None:
        self.connection.execute(query(name), (self.namespace, *bindings)).fetchall()

    def write(self, name: str, rows: Sequence[Sequence[Value]]) -> None:
        at = 0
        for size in SIZES:
            while len(rows) - at >= size:
                values = chain.from_iterable(rows[at : at + size])
                self.connection.execute(query(name, size), (self.namespace, *values))
                at += size


def connected(path: Path, busy_s: float) -> apsw.Connection:
    """The file is created for its owner alone, where there is none."""
    size = len(os.fsencode(os.path.realpath(path)))
    if size > PATH_BYTES_MAX:
        raise too_long(str(path), size, PATH_BYTES_MAX)
    try:
        make(path.parent)
        if not path.exists():
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise no_file(str(path), error) from error
    connection = apsw.Connection(str(path))
    connection.set_busy_timeout(int(busy_s * 1000))
    return connection


def readable(path: Path, busy_s: float) -> apsw.Connection:
    """A file in a folder where nothing can be written is read as it stands, if it is whole without its log."""
    connection = connected(path, busy_s)
    try:
        connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall()
    except (apsw.CantOpenError, apsw.ReadOnlyError):
        connection.close()
        if path.with_name(f"{path.name}-wal").exists():
            raise
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        return apsw.Connection(f"{path.absolute().as_uri()}?immutable=1", flags=flags)
    return connection


def has_gone(path: Path, opened: os.stat_result) -> bool:
    """Whether another file has the name by now, or none. Where nobody may look, nothing is known of it."""
    try:
        return not os.path.samestat(path.stat(), opened)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False


def as_list(values: Sequence[object]) -> str:
    """A list as one value, for queries that take any number of them."""
    return msgspec.json.encode(values).decode()
