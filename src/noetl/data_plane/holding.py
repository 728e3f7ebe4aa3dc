"""A lease in a worker's hands: its pipelines, and what of them is not reported yet."""

import asyncio
from collections.abc import Sequence

from noetl.engine import cursor as cursors
from noetl.engine import events as e
from noetl.engine.commands import Report, Reported
from noetl.engine.cursor import Cursor, iteration_scope
from noetl.engine.program import Program
from noetl.engine.size import as_stored
from noetl.engine.workerside import Given
from noetl.ports import Claim, Granted


class Pipe:
    """One pipeline on its way. `untold` and `undone` count its facts and task ends that no server has yet."""

    def __init__(self, path: e.Path, cursor: Cursor, given: Given) -> None:
        self.path = path
        self.cursor = cursor
        self.given = given
        self.untold = 0
        self.undone = 0
        self.task: asyncio.Task[None] | None = None
        self.is_told = asyncio.Event()
        self.is_told.set()

    def told(self, facts: Sequence[Reported]) -> None:
        self.untold -= len(facts)
        self.undone -= sum(isinstance(fact, e.TaskDone) for fact in facts)
        if self.undone == 0:
            self.is_told.set()


class LeaseOver(Exception):
    """Nothing more may start under a lease: its holder could not renew it in time."""


class Holding:
    """`claim` has its data in hand, all of it where it `is_whole`.

    `deadline` is when the worker stops by itself, by its own clock.
    """

    def __init__(
        self, claim: Claim, program: Program, items: Sequence[object], deadline: float, *, is_whole: bool = True
    ) -> None:
        self.claim = claim
        self.program = program
        self.deadline = deadline
        self.is_whole = is_whole
        self.slots = claim.granted.lease.slots
        self.next = claim.granted.lease.next
        self.stop = claim.granted.lease.stop
        self.pipes: dict[int, Pipe] = {}
        self.pending: list[tuple[int, Reported]] = []
        self.is_lost = False
        self.is_refused = False
        self._items = items
        self._is_step_told = claim.is_started

    @property
    def granted(self) -> Granted:
        return self.claim.granted

    @property
    def step_run_id(self) -> str:
        return self.granted.row[0]

    @property
    def can_begin(self) -> bool:
        return not self.is_lost and self.next < self.stop and len(self.pipes) < self.slots

    @property
    def is_over(self) -> bool:
        return not self.pipes and not self.pending and (self.next >= self.stop or self.slots == 0)

    def check(self, now: float) -> None:
        """Right before something starts: a worker may have stood still since it last looked at its leases."""
        if self.deadline <= now:
            raise LeaseOver

    # ------------------------------------------------------------------------------ pipelines

    def begin(self) -> int:
        """The next index: a new iteration, or one that another worker had begun."""
        index, claim = self.next, self.claim
        self.next += 1
        if claim.loop is None:
            assert claim.cursor is not None
            self.pipes[index] = Pipe((), claim.cursor, self._given((), None))
            return index
        path = (*claim.path, index)
        item = self._items[index - claim.loop.first]
        scratch = iteration_scope(claim.loop.iterator, item, index, claim.loop.count, claim.loop.parent)
        known = claim.loop.cursors.get(index)
        cursor = known or cursors.start(claim.loop.step if claim.loop.is_sequential else {})
        self.pipes[index] = Pipe(path, cursor, self._given(path, scratch))
        if known is None:
            self.tell(index, e.IterationStarted(self.step_run_id, path))
        return index

    def _given(self, path: e.Path, scratch: dict[str, object] | None) -> Given:
        claim, granted = self.claim, self.granted
        return Given(
            granted.execution_id,
            claim.step,
            granted.row[0],
            path,
            claim.workload,
            claim.ctx,
            claim.input,
            scratch,
            claim.outputs,
            self.is_whole,
        )

    def leave(self, index: int, *, is_parked: bool) -> None:
        """The worker is done with an index. One that waits keeps its place, so that the lease has one less."""
        self.pipes.pop(index, None)
        if is_parked:
            self.slots -= 1

    # ------------------------------------------------------------------------------ facts

    def tell(self, index: int, *facts: Reported) -> None:
        """Notes facts in the order in which they happened; they are reported in that order.

        What is gone is reported as what was stored: others may find it again.
        """
        pipe = self.pipes[index]
        if not self._is_step_told:
            self._is_step_told = True
            self.pending.append((index, e.StepStarted(self.step_run_id, self.granted.lease.worker)))
            pipe.untold += 1
        for fact in facts:
            self.pending.append((index, fact if self.is_whole else as_stored(fact)))
            pipe.untold += 1
            if isinstance(fact, e.TaskDone):
                pipe.undone += 1
                pipe.is_told.clear()

    def take(self, limit: int) -> list[tuple[int, Report]]:
        """What is to be reported: a report for each pipeline, in the order in which they are first spoken of."""
        taken, self.pending = self.pending[:limit], self.pending[limit:]
        by_index: dict[int, list[Reported]] = {}
        for index, fact in taken:
            by_index.setdefault(index, []).append(fact)
        return [(index, Report(self.step_run_id, facts)) for index, facts in by_index.items()]

    def stop_at(self, index: int) -> None:
        """The server does not want to hear of an index: its loop stops, or it is another's. Nothing more is begun."""
        self.is_refused = True
        self.stop = min(self.stop, self.next)
        self.pending = [each for each in self.pending if each[0] != index]
        pipe = self.pipes.pop(index, None)
        if pipe is not None and pipe.task is not None:
            pipe.task.cancel()

    def lose(self) -> None:
        """The lease is over: what runs is stopped, what was not told is forgotten."""
        self.is_lost = True
        self.pending.clear()
        for pipe in self.pipes.values():
            if pipe.task is not None:
                pipe.task.cancel()
        self.pipes.clear()
