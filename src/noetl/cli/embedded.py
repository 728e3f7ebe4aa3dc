"""The whole runtime in this process: the engine on the project's SQLite file, with a worker beside it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from noetl.cli.compiling import Compiler
from noetl.cli.console import Stopped
from noetl.cli.finding import live_within
from noetl.cli.presence import Present, present, worker_name
from noetl.cli.project import ProjectCatalog
from noetl.control_plane.plane import Plane
from noetl.data_plane.equipment import Equipment
from noetl.data_plane.limits import Limits
from noetl.data_plane.worker import Worker
from noetl.ports import Granted, Store, Unavailable
from noetl.storage.errors import NoAccess, ReadOnly, StorageError
from noetl.storage.health import Health
from noetl.storage.keychain import LocalKeychain
from noetl.storage.results import FileResults
from noetl.storage.sqlite import Database, SqliteCatalog, SqliteStore
from noetl.supply.programs import Ready
from noetl.system import RealSystem
from noetl.tools import make_tools

DATABASE_NAME = "noetl.db"
RESULTS_NAME = "results"
UNREACHABLE = 5
DRAIN_S = 5.0
RENEW_S = 0.5
"""Between two heartbeats: by them a worker learns what another process cancelled, and the store is near."""

ELSEWHERE = "\n  = keep the state in a folder that you may write to: NOETL_HOME=FOLDER noetl …"


class Local(NamedTuple):
    """The stores of a project, and the compiler that knows the kinds of this process."""

    store: SqliteStore
    catalog: ProjectCatalog
    results: FileResults
    system: RealSystem
    compiler: Compiler
    home: Path
    health: Health


class Runtime(NamedTuple):
    """A server in this process, and what it stands on."""

    local: Local
    plane: Plane
    ready: Ready


@asynccontextmanager
async def opened(
    home: Path, folder: Path, compiler: Compiler | None = None, *, to_read: bool = False
) -> AsyncIterator[Local]:
    """The project's stores, made on first use for their owner alone."""
    compiler = compiler or Compiler()
    system = RealSystem()
    health = Health(system)
    database = Database(home / DATABASE_NAME, health=health)
    results = FileResults(home / RESULTS_NAME, health=health)
    try:
        await (database.open_to_read() if to_read else database.open())
        catalog = ProjectCatalog(SqliteCatalog(database), folder, compiler)
        yield Local(SqliteStore(database, system), catalog, results, system, compiler, home, health)
    except (StorageError, Unavailable) as trouble:
        hint = ELSEWHERE if isinstance(trouble, NoAccess | ReadOnly) else ""
        raise Stopped(f"noetl: {trouble}{hint}", UNREACHABLE) from trouble
    finally:
        await results.close()
        await database.close()


@asynccontextmanager
async def serving(local: Local, environment: dict[str, str]) -> AsyncIterator[Runtime]:
    """A server with the files and the environment of this process: others on the same store have others."""
    keychain = LocalKeychain(environment, local.catalog.locate)
    ready = Ready(local.compiler.installed.kinds_of, has_pools=False)
    plane = Plane(local.store, local.catalog, local.results, keychain, local.system, ready=ready)
    plane.start(tends_all=False)
    try:
        yield Runtime(local, plane, ready)
    finally:
        await plane.stop()


@asynccontextmanager
async def working(runtime: Runtime, root: str, environment: dict[str, str], slots: int) -> AsyncIterator[Worker]:
    """A worker for one execution and those below it."""
    local = runtime.local
    runtime.plane.tend(root)
    tools = make_tools(local.results, local.store, environment)
    keychain = LocalKeychain(environment, local.catalog.locate)
    equipment = Equipment(tools, local.results, local.store, keychain, local.system, runtime.ready)
    name = worker_name()
    worker = Worker(name, runtime.plane, equipment, Limits(slots=slots, renew_s=RENEW_S), within=root)
    with present(local.home, root, name):
        worker.start()
        try:
            yield worker
        finally:
            await worker.stop(DRAIN_S)
            await tools.close()


async def abandoned(store: Store, root: str, there: Present) -> Sequence[Granted]:
    """Leases of an execution, and of those below it, whose worker was killed and could not give them back."""
    found: list[Granted] = []
    async for each in live_within(store, root):
        _, rows = await store.rows(each.execution_id)
        for row, work in rows.work.items():
            gone = (lease for lease in work.leases if there.is_gone(lease.worker))
            found.extend(Granted(each.execution_id, row, lease) for lease in gone)
    return found
