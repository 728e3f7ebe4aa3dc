"""What a durable commit costs in the SQLite store, in units of a bare commit to the same disk in the same run.

    python benchmarks/sqlite.py            400 commits and 40 groups of 100 executions, five times each
    python benchmarks/sqlite.py --quick    a tenth of everything

Rounds are interleaved and the best one counts, because the disk belongs to others too. Exit code 1 over a bar.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import apsw

from noetl.engine.effects import ClearTimers, EndWork, OfferWork
from noetl.engine.worklist import Progress
from noetl.ports import Append, Appended, Ask, Granted, Summary
from noetl.storage.sqlite import Database, SqliteStore

EVENT = b'{"event_id": "e1:1", "payload": {"data": {"rows": [1, 2, 3], "text": "' + b"x" * 330 + b'"}}}'
EVENTS_PER_STEP = 6
GROUP = 100
ROUNDS = 5

SINGLE_MAX = 3.0
"""A commit of one event, beside a bare one: also two threads that hand over, and the row of the execution."""

STEP_MAX = 5.0
"""The one commit of a step in a chain: six events, its lease ended, the next step offered and granted."""

GROUP_SHARE_MIN = 0.15
"""Events a second in groups, beside a bare transaction that inserts as many rows."""


class RealClock:
    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()


class Bare:
    """SQLite as it is, with the same promises."""

    def __init__(self, path: Path) -> None:
        self._connection = apsw.Connection(str(path))
        self._connection.execute("PRAGMA journal_mode = WAL").fetchall()
        self._connection.execute("PRAGMA synchronous = FULL")
        self._connection.execute("CREATE TABLE events (id INTEGER PRIMARY KEY, data BLOB)")

    async def single(self, _number: int) -> None:
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.execute("INSERT INTO events (data) VALUES (?)", (EVENT,))
        self._connection.execute("COMMIT")

    async def group(self, _number: int) -> None:
        self._connection.execute("BEGIN IMMEDIATE")
        rows = ((EVENT,) for _ in range(GROUP * EVENTS_PER_STEP))
        self._connection.executemany("INSERT INTO events (data) VALUES (?)", rows)
        self._connection.execute("COMMIT")


class Ours:
    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self._heads: dict[str, int] = {}
        self._granted: Granted | None = None
        self._steps = 0

    async def single(self, _number: int) -> None:
        await self._commit([self._append("single", 1)])

    async def step(self, _number: int) -> None:
        """One after the other, as in a chain."""
        self._steps += 1
        run, before = f"a#{self._steps}", f"a#{self._steps - 1}"
        progress = () if self._granted is None else (self._ended(self._granted),)
        effects = (EndWork(before), ClearTimers(before), OfferWork(run))
        append = self._append("chain", EVENTS_PER_STEP, effects, progress, (Ask("w", 1, 60.0),))
        (answer,) = await self._commit([append])
        (self._granted,) = answer.granted

    async def group(self, _number: int) -> None:
        await self._commit([self._append(f"g{number}", EVENTS_PER_STEP) for number in range(GROUP)])

    async def alone(self, _number: int) -> None:
        """As many, each asked for by itself: the store puts them together."""
        appends = [self._append(f"a{number}", EVENTS_PER_STEP) for number in range(GROUP)]
        await asyncio.gather(*(self._commit([append]) for append in appends))

    async def _commit(self, appends: list[Append]) -> list[Appended]:
        answers = await self._store.commit(appends)
        return [answer for answer in answers if isinstance(answer, Appended)]

    def _append(
        self,
        name: str,
        events: int,
        effects: tuple[EndWork | ClearTimers | OfferWork, ...] = (),
        progress: tuple[Progress, ...] = (),
        asks: tuple[Ask, ...] = (),
    ) -> Append:
        head = self._heads.get(name, 0)
        self._heads[name] = head + events
        summary = Summary(name, "folder/playbook", "digest", "running", 1.0, 2.0, head + events)
        return Append(name, head, [EVENT] * events, effects, progress, (), asks, summary)

    @staticmethod
    def _ended(granted: Granted) -> Progress:
        return Progress(granted.row, granted.lease.epoch, (0,), (0,))


async def best(rounds: int, count: int, **works: Callable[[int], Awaitable[None]]) -> dict[str, float]:
    """Seconds for one, of each kind of work."""
    found = dict.fromkeys(works, float("inf"))
    for _ in range(rounds):
        for name, work in works.items():
            began = time.perf_counter()
            for number in range(count):
                await work(number)
            found[name] = min(found[name], (time.perf_counter() - began) / count)
    return found


async def spin(until: asyncio.Event) -> None:
    """An event loop that is never idle."""
    while not until.is_set():
        sum(range(2_000))
        await asyncio.sleep(0)


async def measure(folder: Path, scale: int) -> int:
    database = Database(folder / "ours.db")
    await database.open()
    bare, ours = Bare(folder / "bare.db"), Ours(SqliteStore(database, RealClock()))
    one = await best(ROUNDS, 400 // scale, bare=bare.single, single=ours.single, step=ours.step)
    many = await best(ROUNDS, max(40 // scale, 2), bare=bare.group, group=ours.group, alone=ours.alone)
    is_done = asyncio.Event()
    spinning = asyncio.create_task(spin(is_done))
    busy = await best(2, max(40 // scale, 2), step=ours.step, group=ours.group)
    is_done.set()
    await spinning
    await database.close()
    return report(one, many, busy)


def report(one: dict[str, float], many: dict[str, float], busy: dict[str, float]) -> int:
    events = GROUP * EVENTS_PER_STEP
    print(f"bare single commit      {1 / one['bare']:9,.0f}/s")
    print(f"store, one event        {1 / one['single']:9,.0f}/s  {one['single'] / one['bare']:5.2f} bare commits")
    print(f"store, a step           {1 / one['step']:9,.0f}/s  {one['step'] / one['bare']:5.2f} bare commits")
    print(f"bare events in groups   {events / many['bare']:9,.0f}/s")
    print(f"store, one commit       {events / many['group']:9,.0f}/s  {many['bare'] / many['group']:5.2f} of bare")
    print(f"store, {GROUP} at once      {events / many['alone']:9,.0f}/s  {many['bare'] / many['alone']:5.2f} of bare")
    print(f"busy loop, a step       {1 / busy['step']:9,.0f}/s  {busy['step'] / one['bare']:5.2f} bare commits")
    print(f"busy loop, one commit   {events / busy['group']:9,.0f}/s  {many['bare'] / busy['group']:5.2f} of bare")
    bars = {
        f"one event: at most {SINGLE_MAX} bare commits": one["single"] / one["bare"] <= SINGLE_MAX,
        f"a step: at most {STEP_MAX} bare commits": one["step"] / one["bare"] <= STEP_MAX,
        f"groups: at least {GROUP_SHARE_MIN} of bare": many["bare"] / many["group"] >= GROUP_SHARE_MIN,
    }
    for bar, is_kept in bars.items():
        print(f"{'ok' if is_kept else 'FAILED'}: {bar}")
    return 0 if all(bars.values()) else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        return asyncio.run(measure(Path(folder), 10 if options.quick else 1))


if __name__ == "__main__":
    sys.exit(main())
