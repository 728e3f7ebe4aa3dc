"""Jobs of one connection: they go in groups, and each has its own answer."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import apsw
import pytest

from noetl.ports import Append, Appended, Busy, Unavailable
from noetl.storage.sqlite import Database, SqliteStore
from noetl.storage.sqlite.lane import GROUP_MAX, WAITING_MAX, Lane
from noetl.storage.sqlite.unit import Unit
from tests.storage.committing import RealClock


@asynccontextmanager
async def opened(path: Path) -> AsyncIterator[Database]:
    database = Database(path)
    await database.open()
    yield database
    await database.close()


def with_sizes(sizes: list[int]) -> Lane[int]:
    def carry(jobs: Sequence[Callable[[int], object]]) -> Sequence[object]:
        sizes.append(len(jobs))
        return [job(1) for job in jobs]

    return Lane(carry, "test")


async def test_what_waits_goes_together_and_each_gets_its_own_answer() -> None:
    sizes: list[int] = []
    lane = with_sizes(sizes)
    answers = await asyncio.gather(*(lane.ask(lambda one, number=number: one + number) for number in range(500)))  # type: ignore[misc]
    assert answers == [1 + number for number in range(500)]
    assert sizes == [1, GROUP_MAX, GROUP_MAX, 499 - 2 * GROUP_MAX]
    await lane.close(lambda: None)


async def test_a_job_that_fails_fails_alone() -> None:
    sizes: list[int] = []
    lane = with_sizes(sizes)
    asked = (lane.ask(lambda one, by=by: one // by) for by in (1, 1, 0, 1))  # type: ignore[misc]
    answers = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(each) for each in answers] == [int, int, ZeroDivisionError, int]
    assert sizes == [1, 3, 1, 1, 1]
    await lane.close(lambda: None)


async def test_a_write_that_sqlite_refuses_aborts_nobody_in_its_group(tmp_path: Path) -> None:
    async with opened(tmp_path / "noetl.db") as database:
        store = SqliteStore(database, RealClock())
        bad = database.write(_wrong)
        asked = [store.commit([Append("e1", 0, [b"1"])]), bad, store.commit([Append("e2", 0, [b"1"])])]
        answers = await asyncio.gather(database.open(), *asked, return_exceptions=True)
        assert isinstance(answers[2], apsw.ConstraintError)
        assert [answers[1], answers[3]] == [[Appended()], [Appended()]]
        assert [await store.head(name) for name in ("e1", "e2")] == [1, 1]


def _wrong(unit: Unit) -> object:
    unit.session.run("insert_events", "e9", 1, None)
    return ()


async def test_nobody_waits_without_bound() -> None:
    lane = with_sizes([])
    waiting = [asyncio.ensure_future(lane.ask(lambda one: one)) for _ in range(WAITING_MAX + 1)]
    await asyncio.sleep(0)
    with pytest.raises(Busy):
        await lane.ask(lambda one: one)
    assert set(await asyncio.gather(*waiting)) == {1}
    await lane.close(lambda: None)


async def test_what_nobody_waits_for_any_more_is_left_out() -> None:
    done: list[int] = []
    lane = with_sizes([])
    first, second = (asyncio.ensure_future(lane.ask(done.append)) for _ in range(2))
    await asyncio.sleep(0)
    second.cancel()
    await asyncio.gather(first, second, return_exceptions=True)
    await lane.close(lambda: None)
    assert done == [1]


async def test_closing_carries_what_waits_and_takes_nothing_more() -> None:
    done: list[object] = []
    lane = with_sizes([])
    waiting = [asyncio.ensure_future(lane.ask(done.append)) for _ in range(5)]
    await asyncio.sleep(0)
    await lane.close(lambda: done.append("closed"))
    await asyncio.gather(*waiting)
    assert done == [1, 1, 1, 1, 1, "closed"]
    with pytest.raises(Unavailable, match="the database is closed"):
        await lane.ask(lambda one: one)
