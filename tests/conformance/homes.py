"""The stores that the suite runs on. A new one gets a home here and must pass everything."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import msgspec

from noetl.ports import Catalog, ResultStore, Store
from noetl.storage.memory import MemoryCatalog, MemoryResults, MemoryStore
from noetl.storage.results import FileResults
from noetl.storage.sqlite import Database, SqliteCatalog, SqliteStore

START_S = 1_790_000_000.0


class HandClock:
    """Time that moves when a test says so."""

    def __init__(self) -> None:
        self.time = START_S

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time

    def pass_s(self, seconds: float) -> None:
        self.time += seconds


class Ports(msgspec.Struct, frozen=True):
    store: Store
    catalog: Catalog
    results: ResultStore


class Home(ABC):
    """Where a store keeps its data. It can be opened again and again."""

    def __init__(self, clock: HandClock | None = None) -> None:
        self.clock = clock or HandClock()

    @abstractmethod
    def ports(self) -> AbstractAsyncContextManager[Ports]: ...

    @asynccontextmanager
    async def store(self) -> AsyncIterator[Store]:
        async with self.ports() as ports:
            yield ports.store

    @asynccontextmanager
    async def catalog(self) -> AsyncIterator[Catalog]:
        async with self.ports() as ports:
            yield ports.catalog

    @asynccontextmanager
    async def results(self) -> AsyncIterator[ResultStore]:
        async with self.ports() as ports:
            yield ports.results


class MemoryHome(Home):
    def __init__(self) -> None:
        super().__init__()
        self._ports = Ports(MemoryStore(self.clock), MemoryCatalog(), MemoryResults(self.clock))

    @asynccontextmanager
    async def ports(self) -> AsyncIterator[Ports]:
        yield self._ports


class SqliteHome(Home):
    """What `noetl run` keeps beside a project: a database and files."""

    def __init__(self, folder: Path, clock: HandClock | None = None) -> None:
        super().__init__(clock)
        self._folder = folder

    @asynccontextmanager
    async def ports(self) -> AsyncIterator[Ports]:
        database, results = Database(self._folder / "noetl.db"), FileResults(self._folder / "results")
        await database.open()
        yield Ports(SqliteStore(database, self.clock), SqliteCatalog(database), results)
        await database.close()
        await results.close()


HOMES = ("memory", "sqlite")


def home_of(kind: str, folder: Path) -> Home:
    return MemoryHome() if kind == "memory" else SqliteHome(folder)
