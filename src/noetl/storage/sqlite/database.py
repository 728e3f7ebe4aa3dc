"""One SQLite file: a connection that writes, in groups, and one that reads, each on its own thread."""

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from pathlib import Path
from typing import TypeVar

import apsw

from noetl.storage.health import Health
from noetl.storage.sqlite.errors import gone, told_of
from noetl.storage.sqlite.lane import Lane
from noetl.storage.sqlite.schema import is_of_today, prepare
from noetl.storage.sqlite.session import Session, connected, has_gone, readable
from noetl.storage.sqlite.unit import Unit

T = TypeVar("T")

BUSY_S = 10.0
"""How long a writer waits for other processes."""


class Database:
    """Not open before `open` has answered. What `write` has answered is on the disk.

    `health` is told how it goes from then on, except by what is done for people and not needed by a run.
    """

    def __init__(
        self, path: Path, *, namespace: str = "default", busy_s: float = BUSY_S, health: Health | None = None
    ) -> None:
        self._path = path
        self._health = health
        self._writer = _Writer(path, namespace, busy_s)
        self._reader = _Reader(path, namespace, busy_s)
        self._writes = Lane(self._writer.carry, "noetl-writer")
        self._reads = Lane(self._reader.carry, "noetl-reader")

    async def open(self) -> None:
        """Finds out whether the file can be used, and makes it ready."""
        await self._writes.ask(lambda _: None)

    async def open_to_read(self) -> None:
        """As `open`, for those who only look. They need no right to write, and wait for no writer."""
        if await self._reads.ask(lambda session: is_of_today(session.connection, str(self._path))):
            return
        await self.open()

    async def write(self, job: Callable[[Unit], T], doing: str = "") -> T:
        """`doing` names the kind of work, where a run needs it."""
        with self._watching(doing):
            return await self._writes.ask(job)

    async def read(self, job: Callable[[Session], T]) -> T:
        with self._watching("read"):
            return await self._reads.ask(job)

    async def close(self) -> None:
        await self._reads.close(self._reader.close)
        await self._writes.close(self._writer.close)

    def _watching(self, doing: str) -> AbstractContextManager[None]:
        return self._health.watching(doing) if self._health is not None else nullcontext()


class _Writer:
    def __init__(self, path: Path, namespace: str, busy_s: float) -> None:
        self._path = path
        self._namespace = namespace
        self._busy_s = busy_s
        self._unit: Unit | None = None
        self._file: os.stat_result | None = None
        self._version: object = None

    def carry(self, jobs: Sequence[Callable[[Unit], object]]) -> Sequence[object]:
        """All of them in one transaction."""
        with told_of(str(self._path)):
            unit = self._unit = self._unit or self._opened()
            connection = unit.session.connection
            connection.execute("BEGIN IMMEDIATE")
            is_kept = False
            try:
                self._forget_if_stale(unit)
                answers = [job(unit) for job in jobs]
                unit.flush()
                self._check_place()
                connection.execute("COMMIT")
                is_kept = True
            finally:
                unit.end(is_kept=is_kept)
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
        return answers

    def close(self) -> None:
        if self._unit is not None:
            _close(self._unit.session)

    def _opened(self) -> Unit:
        connection = connected(self._path, self._busy_s)
        with ExitStack() as undo:
            undo.callback(connection.close)
            prepare(connection, str(self._path))
            connection.execute("PRAGMA synchronous = FULL; PRAGMA fullfsync = 1").fetchall()
            undo.pop_all()
        with suppress(OSError):
            self._file = self._path.stat()
        return Unit(Session(connection, self._namespace))

    def _check_place(self) -> None:
        """Whoever removes the file leaves us one without a name, which takes everything and keeps nothing."""
        if self._file is not None and has_gone(self._path, self._file):
            raise gone(str(self._path))

    def _forget_if_stale(self, unit: Unit) -> None:
        """SQLite counts what other connections wrote. One of a newer NoETL may have changed the schema meanwhile."""
        version: object = unit.session.connection.execute("PRAGMA data_version").get
        if version != self._version:
            unit.forget()
            is_of_today(unit.session.connection, str(self._path))
            self._version = version


class _Reader:
    def __init__(self, path: Path, namespace: str, busy_s: float) -> None:
        self._path = path
        self._namespace = namespace
        self._busy_s = busy_s
        self._session: Session | None = None

    def carry(self, jobs: Sequence[Callable[[Session], object]]) -> Sequence[object]:
        """All of them at one moment."""
        with told_of(str(self._path)):
            session = self._session = self._session or self._opened()
            session.connection.execute("BEGIN")
            try:
                return [job(session) for job in jobs]
            finally:
                if session.connection.in_transaction:
                    session.connection.execute("ROLLBACK")

    def close(self) -> None:
        if self._session is not None:
            _close(self._session)

    def _opened(self) -> Session:
        connection: apsw.Connection = readable(self._path, self._busy_s)
        connection.execute("PRAGMA query_only = 1")
        return Session(connection, self._namespace)


def _close(session: Session) -> None:
    """Who closes last carries the log of the file over into it. Where that fails, the next who opens it does."""
    with suppress(apsw.Error):
        session.connection.close()
