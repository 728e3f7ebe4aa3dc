"""Tools, and every run of one as it really happened, seen from outside of the log."""

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from random import Random

from noetl.engine import events as e
from noetl.engine.layering import timeout_of
from noetl.engine.output import NOTHING, Output
from noetl.engine.program import Program, ReadyTask
from noetl.ports import Console, ToolCall
from tests.engine.laws.outcomes import outcome
from tests.simulation.actors import Actor, Condition
from tests.simulation.books import Book, Books
from tests.simulation.loop import SimulatedLoop
from tests.simulation.settings import Setting

QUICK_S, SLOW_S, LONG_S = 0.05, 1.0, 25.0
SLOW_SHARE = 0.2
HARMLESS = ("noop", "resolve")
KILLS_SHARE = 0.06
IN_TIME = 0.5
"""The share of its time limit that a tool takes at most."""

ENTITY = re.compile(r"(?P<run>[^\[\]]*?#\d+)(?:\[(?P<path>[\d,]+)\])?\.")
STORE_CRASH_S = 40.0
"""So long after the store crashed its leases may end sooner than their holders know: heartbeats were lost."""


class Running:
    """One run of a tool that goes on."""

    __slots__ = ("actor", "call", "has_frozen", "name", "path", "run")

    def __init__(self, actor: Actor, call: ToolCall) -> None:
        self.actor = actor
        self.call = call
        self.name = f"{call.execution_id}/{call.task_run_id}"
        self.run, self.path = place_of(call.task_run_id)
        self.has_frozen = False

    @property
    def pipeline(self) -> tuple[str, str, e.Path]:
        return self.call.execution_id, self.run, self.path

    @property
    def loop(self) -> tuple[str, str, e.Path]:
        return self.call.execution_id, self.run, self.path[:-1]

    def is_going_on(self) -> bool:
        """A run of one who was frozen may go on a moment too long: nobody can prevent that."""
        self.has_frozen = self.has_frozen or self.actor.condition is Condition.FROZEN
        return self.actor.is_alive and not self.has_frozen


class Ledger:
    """`kill` ends the worker that runs now, as a tool that takes all its memory does."""

    def __init__(
        self, given: Setting, programs: Sequence[Program], books: Books, loop: SimulatedLoop, kill: Callable[[], None]
    ) -> None:
        self._given = given
        self._books = books
        self._loop = loop
        self._kill = kill
        self._tasks = {
            program.playbook.digest: {task.path: task for task in all_tasks(program)} for program in programs
        }
        self._ended: dict[tuple[Actor, tuple[str, str, e.Path]], list[str]] = {}
        self._excused_until = -1.0
        self.runs: Counter[str] = Counter()
        self.running: list[Running] = []

    @property
    def _is_timely(self) -> bool:
        """Whether the store's clock goes its way, so that nobody is robbed of a lease."""
        jumps = self._given.store_jumps and self._given.rates.jumps > 0
        return not jumps and self._loop.time() > self._excused_until

    def store_crashed(self) -> None:
        self._excused_until = self._loop.time() + STORE_CRASH_S

    # ------------------------------------------------------------------------------ a run

    async def run(self, call: ToolCall) -> Output:
        running = Running(self._loop.current, call)
        self._check_start(running)
        self.running.append(running)
        self.runs[running.name] += 1
        try:
            if self._is_killer(call):
                self._kill()
            await asyncio.sleep(min(self._duration_s(running.name), _limit_s(call)))
        finally:
            self.running.remove(running)
        self._ended.setdefault((running.actor, running.pipeline), []).append(call.task_run_id)
        task = self._tasks[self._books.books[call.execution_id].state.digest][call.path]
        play = self._given.play
        return outcome(play.seed, call.execution_id, call.task_run_id, task, is_bulky=play.is_bulky)

    def _is_killer(self, call: ToolCall) -> bool:
        if not self._given.has_killers:
            return False
        return Random(f"{self._given.seed}!{call.execution_id}/{call.key}").random() < KILLS_SHARE

    def _duration_s(self, name: str) -> float:
        chance = Random(f"{self._given.seed}/{name}/{self.runs[name]}")
        drawn = chance.random()
        long = self._given.long_share
        top = LONG_S if drawn < long else SLOW_S if drawn < long + SLOW_SHARE else QUICK_S
        return round(chance.random() * top, 6)

    # ------------------------------------------------------------------------------ what no run may show

    def _check_start(self, running: Running) -> None:
        call, name = running.call, running.name
        book = self._books.books.get(call.execution_id)
        if book is None:
            self._loop.fail(f"{name} runs, of which no execution is known")
            return
        self._check_acknowledged(running, book)
        if not self._is_timely:
            return
        if call.task_run_id in book.monitor.task_ends:
            self._loop.fail(f"{name} runs again, though its end is recorded")
        if any(other.name == name and other.is_going_on() for other in self.running):
            self._loop.fail(f"{name} runs twice at once")
        self._check_lease(running, book)
        self._check_in_flight(running, book)

    def _check_acknowledged(self, running: Running, book: Book) -> None:
        """What the same worker ended before in this pipeline is recorded, or is run anew because it was not."""
        if running.call.kind in HARMLESS:
            return
        ended = self._ended.get((running.actor, running.pipeline), [])
        if running.call.task_run_id in ended:
            del ended[ended.index(running.call.task_run_id) :]
        for before in ended:
            if before not in book.monitor.task_ends:
                self._loop.fail(f"{running.name} begins, though the end of {before} is not recorded")

    def _check_lease(self, running: Running, book: Book) -> None:
        """Whoever starts a tool holds its lease, unless the server ended the work and could not say so yet."""
        key = (running.call.execution_id, (running.run, running.path[:-1]))
        held = self._books.leases.holder(key, running.path[-1] if running.path else 0)
        is_own = held is not None and held.worker == f"{running.actor.name}.{running.actor.life}"
        if not is_own and _is_wanted(book, running):
            self._loop.fail(f"{running.name} begins at {running.actor.name}, but its lease is {held or 'over'}")

    def _check_in_flight(self, running: Running, book: Book) -> None:
        if not running.path:
            return
        room = book.monitor.room.get((running.run, running.path[:-1]))
        beside = {other.path for other in self.running if other.loop == running.loop and other.is_going_on()}
        if room is not None and len(beside | {running.path}) > room:
            self._loop.fail(f"{len(beside | {running.path})} iterations run beside {running.name}, where {room} may")

    def check_stopped(self, grace_s: float) -> None:
        """Nothing runs on for long when its execution has ended."""
        now = self._loop.time()
        for running in self.running:
            book = self._books.books.get(running.call.execution_id)
            ended_at = book.ended_at if book is not None else None
            if ended_at is not None and now - ended_at > grace_s and running.is_going_on():
                self._loop.fail(f"{running.name} runs on {now - ended_at:g} s after its execution has ended")

    def of(self, actor: Actor) -> Iterator[str]:
        return (running.name for running in self.running if running.actor is actor)

    @property
    def is_quiet(self) -> bool:
        return not any(running.actor.is_alive for running in self.running)


class SimulatedTool:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def run(self, call: ToolCall, console: Console) -> Output:
        console.write(f"{call.task_run_id} runs\n")
        return NOTHING if call.kind == "noop" else await self._ledger.run(call)

    async def close(self) -> None:
        return


def _limit_s(call: ToolCall) -> float:
    """Tools keep to their time: a task that fails for it would be another story each time."""
    limit_s = timeout_of(call.spec)
    return IN_TIME * limit_s if limit_s is not None else float("inf")


def place_of(task_run_id: str) -> tuple[str, e.Path]:
    """The step run and the iteration of a task run: `fetch#2`, (17, 3) for `fetch#2[17,3].get/1`."""
    found = ENTITY.match(task_run_id)
    assert found is not None, task_run_id
    path = found["path"]
    return found["run"], tuple(int(part) for part in path.split(",")) if path else ()


def _is_wanted(book: Book, running: Running) -> bool:
    """Whether the log still waits for this pipeline to go on."""
    run = book.state.runs.get(running.run)
    if run is None or run.boundary is not None:
        return False
    loop = run.loop
    for depth, index in enumerate(running.path):
        if loop is None or loop.failure is not None or index in loop.ended:
            return False
        if depth + 1 < len(running.path):
            iteration = loop.live.get(index)
            loop = iteration.loop if iteration is not None else None
    return True


def all_tasks(program: Program) -> Sequence[ReadyTask]:
    own = [task for step in program.steps for task in program.pipeline(step).tasks]
    first = next(iter(program.steps))
    inner = [task for name in program.playbook.workbook for task in program.block_pipeline(name, first).tasks]
    return [*own, *inner]
