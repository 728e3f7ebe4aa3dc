"""Several processes on one file: all of them go on, and none undoes what another did."""

from pathlib import Path

from noetl.ports import Append, Appended, Conflict
from noetl.storage.sqlite import Database, SqliteStore
from tests.conformance.given import append, ask, claimed, task
from tests.storage.children import losses, told, writer
from tests.storage.committing import TASKS, RealClock

COMMITS = 40


async def test_processes_that_create_and_write_one_file_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "noetl.db"
    children = [writer(path, name, "--commits", str(COMMITS)) for name in ("x", "y", "z")]
    outputs = [child.communicate(timeout=60)[0] for child in children]
    heard = told(line for output in outputs for line in output.splitlines(keepends=True))
    assert list(heard.troubles) == []
    assert len(heard.events) == 3 * TASKS * COMMITS
    assert await losses(path, heard) == []


async def test_processes_that_write_the_same_logs_conflict_and_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "noetl.db"
    children = [writer(path, name, "--shared", "--commits", str(COMMITS)) for name in ("x", "y")]
    outputs = [child.communicate(timeout=60)[0] for child in children]
    heard = told(line for output in outputs for line in output.splitlines(keepends=True))
    assert list(heard.troubles) == []
    assert len(heard.events) == 2 * TASKS * COMMITS
    assert await losses(path, heard) == []


async def test_what_one_connection_writes_another_sees_though_it_remembers_the_execution(tmp_path: Path) -> None:
    one, two = Database(tmp_path / "noetl.db"), Database(tmp_path / "noetl.db")
    await one.open()
    await two.open()
    mine, theirs = SqliteStore(one, RealClock()), SqliteStore(two, RealClock())
    await append(mine, task())
    granted = await claimed(theirs)
    assert list(await mine.claim(ask("w2"), 10)) == []
    assert list(await mine.commit([Append("e1", 1, [b"2"])])) == [Appended()]
    assert list(await theirs.commit([Append("e1", 1, [b"x"])])) == [Conflict(2)]
    await theirs.release([granted])
    assert (await claimed(mine)).lease.epoch > granted.lease.epoch
    await one.close()
    await two.close()
