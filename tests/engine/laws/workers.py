"""A worker with a lease: it runs pipelines on cursors of its own and reports what happened, at once or later."""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from noetl.engine import cursor as cursors
from noetl.engine import events as e
from noetl.engine import leases
from noetl.engine.commands import Report, Reported
from noetl.engine.loops import ctx_at, is_stopping, loop_under, scratch_at
from noetl.engine.output import Output
from noetl.engine.pipeline import (
    Await,
    Bound,
    Finished,
    Record,
    Run,
    bind,
    call_child,
    kind_of,
    next_move,
    settle,
    wait,
)
from noetl.engine.program import ReadyTask
from noetl.engine.size import Stored, fit, hydrate, recorded, store
from noetl.engine.workerside import Given
from noetl.engine.worklist import Row
from noetl.playbook.model import LoopMode
from tests.engine.laws.executions import Execution, frozen
from tests.engine.laws.outcomes import kills, outcome

if TYPE_CHECKING:
    from tests.engine.laws.world import World

T = TypeVar("T")

DRAW = 0.5
PATIENCE_S = 1.5
"""A worker waits this long itself; longer waits are handed to a timer."""


class Pipeline:
    def __init__(self, cursor: cursors.Cursor, given: Given) -> None:
        self.cursor = cursor
        self.given = given


class Holding:
    """One lease in a worker's hands. `facts` are not reported yet."""

    def __init__(self, world: "World", execution: Execution, row: Row, epoch: int) -> None:
        self.world = world
        self.execution = execution
        self.row = row
        self.epoch = epoch
        self.facts: list[Reported] = []
        self.pipelines: dict[int, Pipeline] = {}

    @property
    def is_loop(self) -> bool:
        run = self.execution.state.runs.get(self.row[0])
        return run is not None and run.loop is not None

    def path(self, index: int) -> e.Path:
        return (*self.row[1], index) if self.is_loop else ()

    @property
    def lease(self) -> leases.Lease | None:
        work = self.execution.work.get(self.row)
        return work.lease(self.epoch) if work is not None else None

    def renew(self) -> None:
        work = self.execution.work.get(self.row)
        renewed = leases.renew(work, self.epoch, now=self.world.now - 1e-3, lease_s=60.0) if work is not None else None
        if renewed is not None:
            self.execution.work[self.row] = renewed

    def move(self) -> None:
        lease = self.lease
        if lease is None or self.row[0] not in self.execution.state.runs:
            self.drop()
            return
        can_start = len(lease.running) < lease.slots and lease.next < lease.stop
        if can_start and (not self.pipelines or self.world.chance.random() < 0.5):
            self.start(lease.next)
        elif self.pipelines:
            self.advance(self.world.chance.choice(list(self.pipelines)))
        else:
            self.drop()

    def drop(self) -> None:
        """Nothing is left to do, or it was taken away."""
        if self in self.world.holdings:
            self.world.holdings.remove(self)
        work = self.execution.work.get(self.row)
        if work is not None:
            self.execution.work[self.row] = leases.release(work, self.epoch)

    def start(self, index: int) -> None:
        """Begin an index, or go on where another worker stopped."""
        run = self.execution.state.runs[self.row[0]]
        loop = loop_under(run, self.row[1])
        started = leases.start(self.execution.work[self.row], self.epoch, index)
        assert started is not None
        self.execution.work[self.row] = started
        holder = run if loop is None else loop.live.get(index)
        if holder is not None:
            assert holder.cursor is not None
            self.pipelines[index] = Pipeline(self.whole(holder.cursor), self.given(index))
            return
        assert loop is not None
        if loop.mode is LoopMode.SEQUENTIAL and not self.flush():
            return
        cursor = cursors.start(self.whole(loop.step) if loop.mode is LoopMode.SEQUENTIAL else {})
        self.pipelines[index] = Pipeline(cursor, self.given(index))
        self.tell(index, e.IterationStarted(self.row[0], self.path(index)))

    def given(self, index: int) -> Given:
        state, path = self.execution.state, self.path(index)
        run = state.runs[self.row[0]]
        ctx = ctx_at(state, run, path)
        scratch = scratch_at(run, path, self.execution.program, self.execution.store) if path else None
        outputs = dict(state.outputs)
        return self.whole(
            Given(state.execution_id, run.step, run.id, path, state.workload, ctx, run.input, scratch, outputs)
        )

    def whole(self, value: T) -> T:
        """What the server knows of, with its data."""
        found = hydrate(value, self.execution.store.fetch)
        assert isinstance(found, type(value))
        return found

    def advance(self, index: int) -> None:
        its, program, now = self.pipelines[index], self.execution.program, self.world.now
        move = next_move(program, its.cursor, its.given, now=now, draw=DRAW)
        again = next_move(program, its.cursor, its.given, now=now, draw=DRAW)
        assert frozen_move(move) == frozen_move(again), "the same cursor gave two different moves"
        match move:
            case Record(facts, not_before):
                self.world.now = max(now, not_before or 0.0)
                self.tell(index, *facts)
            case Run():
                self.carry_out(index, its, move)
            case Finished():
                self.finish(index, move)
            case Await():
                raise AssertionError("a pipeline that waits for a child was handed out")

    def carry_out(self, index: int, its: Pipeline, work: Run) -> None:
        if work.not_before is not None and work.not_before > self.world.now + PATIENCE_S:
            self.park(index, wait(work.started, work.not_before))
            return
        self.world.now = max(self.world.now, work.not_before or 0.0)
        if not work.is_recorded:
            self.tell(index, work.started)
        if index not in self.pipelines or self.dies(work):
            return
        bound = bind(self.execution.program, work)
        output = bound if isinstance(bound, Output) else self.outcome(work, bound)
        if isinstance(output, e.TaskWaiting):
            self.park(index, output)
            return
        own = bound.own if isinstance(bound, Bound) else {}
        program, now = self.execution.program, self.world.now
        stored = self.stored(work.task, output)
        done = settle(program, its.cursor, its.given, stored.output, own=own, now=now, draw=DRAW)
        self.move_on(index, done)
        self.note(recorded(done, stored))
        self.perhaps_flush()

    def stored(self, task: ReadyTask, output: Output) -> Stored:
        owner = task.path.rpartition("/tool/")[0]
        limit = self.execution.limit_bytes or sys.maxsize
        stored = store(output, limit_bytes=limit, always=(owner, task.task.name) in self.execution.kept.tasks)
        self.execution.store.keep(*stored.blobs)
        return stored

    def dies(self, work: Run) -> bool:
        name = self.execution.state.execution_id
        if not self.world.trouble.kills or not kills(self.world.case.seed, name, work.started.key):
            return False
        if self.flush():
            self.world.crash(self)
        return True

    def outcome(self, work: Run, bound: Bound) -> Output | e.TaskWaiting:
        name, kind = self.execution.state.execution_id, work.task.task.kind
        if kind == "playbook":
            return call_child(self.execution.program, name, work, bound, self.world.now)
        if kind == "noop":
            return Output()
        case = self.world.case
        return outcome(case.seed, name, work.started.task_run_id, work.task, is_bulky=case.is_bulky)

    def park(self, index: int, fact: e.TaskWaiting) -> None:
        self.note(fact)
        if self.flush():
            self.leave(index, leases.park if self.is_live(index) else leases.end)

    def is_live(self, index: int) -> bool:
        """A loop that stops ends an iteration as soon as it waits."""
        run = self.execution.state.runs.get(self.row[0])
        loop = loop_under(run, self.row[1]) if run is not None else None
        return run is not None and (run.cursor is not None or (loop is not None and index in loop.live))

    def leave(self, index: int, how: Callable[[leases.Work, int, int], leases.Work | None]) -> None:
        """The worker is done with an index, for now or for good. Work that is over has no row any more."""
        del self.pipelines[index]
        work = self.execution.work.get(self.row)
        left = how(work, self.epoch, index) if work is not None else None
        if left is not None:
            self.execution.work[self.row] = left

    def finish(self, index: int, end: Finished) -> None:
        run, path, output = self.row[0], self.path(index), end.output
        if path:
            self.note(e.IterationFailed(run, path, output) if end.is_failed else e.IterationDone(run, path, output))
        else:
            self.note(e.StepFailed(run, output) if end.is_failed else e.StepDone(run, output))
        if self.flush():
            self.leave(index, leases.end)

    def tell(self, index: int, *facts: cursors.WorkerFact) -> None:
        """Note facts of a pipeline, all in one report."""
        for fact in facts:
            if not isinstance(fact, e.IterationStarted) or fact.call:
                self.move_on(index, fact)
            self.note(fact)
        self.perhaps_flush()

    def move_on(self, index: int, fact: cursors.WorkerFact) -> None:
        its, program = self.pipelines[index], self.execution.program
        kind = kind_of(program, its.given.step, its.cursor, fact)
        its.cursor = cursors.apply(its.cursor, fact, program.playbook.dialect, kind)

    def note(self, fact: Reported) -> None:
        """What the worker reports, with its large values stored."""
        fitted = fit(fact, self.execution.limit_bytes or sys.maxsize)
        self.execution.store.keep(*fitted.blobs)
        self.facts.append(fitted.fact)  # type: ignore[arg-type]

    def perhaps_flush(self) -> None:
        if self.world.chance.random() < 0.5:
            self.flush()

    def flush(self) -> bool:
        """Report. Where the server refuses, something must have ended that this worker did not know of."""
        facts, self.facts = self.facts, []
        if not facts:
            return True
        run = self.execution.state.runs.get(self.row[0])
        refused = self.world.report(self.execution, Report(self.row[0], facts))
        if refused is None:
            return True
        assert refused.kind in ("ended", "unknown") or run is None or self.is_stopping(), (refused, facts)
        self.pipelines.clear()
        self.drop()
        return False

    def is_stopping(self) -> bool:
        run = self.execution.state.runs[self.row[0]]
        loop = loop_under(run, self.row[1])
        return run.boundary is not None or (run.cursor is None and (loop is None or is_stopping(run, loop)))


def frozen_move(move: Run | Record | Await | Finished) -> bytes:
    return frozen((move.started, move.not_before) if isinstance(move, Run) else move)
