"""The schema of the file: migrations in order, each once. A file of a newer NoETL is refused."""

from collections.abc import Iterator
from pathlib import Path

import apsw

from noetl.storage.sqlite.errors import newer, not_ours

VERSION = 2
"""The number of the newest migration, so that a file of today needs no look at them."""


def prepare(connection: apsw.Connection, path: str) -> None:
    """One query where the schema is that of today."""
    if not is_of_today(connection, path):
        _migrate(connection, path)


def is_of_today(connection: apsw.Connection, path: str) -> bool:
    """Whether the file has the schema that we know best; a newer one is refused."""
    found = _version(connection)
    if found is not None and found > VERSION:
        raise newer(path, found, VERSION)
    return found == VERSION


def _version(connection: apsw.Connection) -> int | None:
    """None where no migration ever ran."""
    try:
        found: object = connection.execute("SELECT max(version) FROM migrations").get
    except apsw.SQLError:
        return None
    return found if isinstance(found, int) else 0


def _migrate(connection: apsw.Connection, path: str) -> None:
    """In one transaction; who comes second finds it done."""
    connection.execute("PRAGMA journal_mode = WAL").fetchall()
    with _immediate(connection):
        found = _version(connection)
        if found is None:
            if connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall():
                raise not_ours(path)
            connection.execute("CREATE TABLE migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL)")
        for number, script in _scripts():
            if number > (found or 0):
                connection.execute(script.read_text("utf-8"))
                connection.execute("INSERT INTO migrations VALUES (?, ?)", (number, script.name))


class _immediate:  # noqa: N801 — reads as a word at its only use
    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: object, *_: object) -> None:
        self._connection.execute("COMMIT" if kind is None else "ROLLBACK")


def _scripts() -> Iterator[tuple[int, Path]]:
    for script in sorted(Path(__file__).with_name("migrations").glob("*.sql")):
        yield int(script.name.partition("_")[0]), script
