"""A worker's report: each fact must be the one that can come next, or all of it is refused.

The report is played through on cursors, which never change in place, so that a refusal leaves no trace.
"""

from collections.abc import Sequence

import msgspec

from noetl.engine import events as e
from noetl.engine.commands import Rejection, Reported
from noetl.engine.cursor import Cursor, Frame, WorkerFact, apply, frame_of, start
from noetl.engine.loops import loop_under
from noetl.engine.output import NOTHING, Output, Status
from noetl.engine.pipeline import kind_of
from noetl.engine.program import Program
from noetl.engine.view import LoopView, RunView
from noetl.playbook.model import LoopMode


def taken(program: Program, run: RunView, facts: Sequence[Reported]) -> list[e.Fact] | Rejection:
    """The facts as they enter the log, with the changes of ctx that they bring; or why they may not."""
    play = _Play(program, run)
    for fact in facts:
        if not play.take(fact):
            return Rejection("stale", f"{type(fact).__name__} does not follow what is recorded of {run.id}")
    return play.facts


class _Place:
    """A pipeline that the report speaks of, as it stands after the facts so far. `loop` is the one around it."""

    __slots__ = ("cursor", "is_parked", "loop")

    def __init__(self, cursor: Cursor, loop: LoopView | None, *, is_parked: bool = False) -> None:
        self.cursor = cursor
        self.loop = loop
        self.is_parked = is_parked


class _Play:
    """A report being played through. `places` lay over what the state holds; one that has ended is None there."""

    def __init__(self, program: Program, run: RunView) -> None:
        self.program = program
        self.run = run
        self.facts: list[e.Fact] = []
        self.places: dict[e.Path, _Place | None] = {}
        self.opened: dict[e.Path, int] = {}
        self.step: dict[e.Path, e.Values] = {}
        self.is_started = run.is_started
        self.is_over = run.boundary is not None

    def take(self, fact: Reported) -> bool:
        if self.is_over:
            return False
        match fact:
            case e.TaskStarted() | e.TaskDone() | e.TaskWaiting():
                return self.pipeline_fact(fact)
            case e.StepStarted():
                return self.step_started(fact)
            case e.StepDone() | e.StepFailed():
                return self.step_ended(fact)
            case e.IterationStarted(call=""):
                return self.iteration_started(fact)
            case e.IterationDone(call="") | e.IterationFailed(call=""):
                return self.iteration_ended(fact)
            case _:
                return self.pipeline_fact(fact)

    def step_started(self, fact: e.StepStarted) -> bool:
        fits = not self.is_started
        self.is_started = True
        self.facts.append(fact)
        return fits

    def step_ended(self, fact: e.StepDone | e.StepFailed) -> bool:
        end = self.end_of(self.place(()))
        wanted = Status.OK if isinstance(fact, e.StepDone) else Status.ERROR
        if end is None or end.status is not wanted:
            return False
        self.facts.append(msgspec.structs.replace(fact, output=end))
        self.is_over = True
        return True

    def iteration_started(self, fact: e.IterationStarted) -> bool:
        loop = loop_under(self.run, fact.path[:-1]) if fact.path else None
        if loop is None or not self.has_room(loop, fact.path):
            return False
        carried = self.step.get(loop.path, loop.step) if loop.mode is LoopMode.SEQUENTIAL else {}
        self.places[fact.path] = _Place(start(carried), loop)
        self.opened[loop.path] = self.opened.get(loop.path, 0) + 1
        self.facts.append(fact)
        return True

    def has_room(self, loop: LoopView, path: e.Path) -> bool:
        """Whether an iteration may start: never started before, within the count and within `max_in_flight`."""
        index = path[-1]
        is_leaf = loop.level + 1 == len(self.program.steps[self.run.step].levels)
        if not is_leaf or not 0 <= index < loop.count or loop.failure is not None:
            return False
        if index in loop.live or index in loop.ended or path in self.places:
            return False
        return len(loop.live) + self.opened.get(loop.path, 0) < loop.max_in_flight

    def iteration_ended(self, fact: e.IterationDone | e.IterationFailed) -> bool:
        place = self.place(fact.path)
        end = self.end_of(place)
        wanted = Status.OK if isinstance(fact, e.IterationDone) else Status.ERROR
        if place is None or place.loop is None or end is None or end.status is not wanted:
            return False
        self.places[fact.path] = None
        self.opened[place.loop.path] = self.opened.get(place.loop.path, 0) - 1
        if isinstance(fact, e.IterationDone):
            self.iteration_done(fact, place.loop, place.cursor, end)
        else:
            self.facts.append(msgspec.structs.replace(fact, output=end))
        return True

    def iteration_done(self, fact: e.IterationDone, loop: LoopView, cursor: Cursor, end: Output) -> None:
        is_sequential = loop.mode is LoopMode.SEQUENTIAL
        carried = cursor.frames[0].step if is_sequential else {}
        self.step[loop.path] = carried
        self.facts.append(e.IterationDone(fact.step_run_id, fact.path, end, cursor.ctx, {}, carried))
        if is_sequential and not loop.path and cursor.ctx:
            origin = e.PatchOrigin(f"workflow/{self.run.step}/tool", self.run.id, None, fact.path)
            self.facts.append(e.CtxPatched(cursor.ctx, origin))

    def pipeline_fact(self, fact: WorkerFact) -> bool:
        place = self.place(fact.path)
        if place is None or place.is_parked or not _fits(place.cursor, fact):
            return False
        kind = kind_of(self.program, self.run.step, place.cursor, fact)
        place.cursor = apply(place.cursor, fact, self.program.playbook.dialect, kind)
        self.facts.append(fact)
        match fact:
            case e.TaskWaiting():
                place.is_parked = True
            case e.TaskStarted() | e.TaskDone() if not fact.path and fact.patch.ctx:
                self.ctx_change(fact)
        return True

    def ctx_change(self, fact: e.TaskStarted | e.TaskDone) -> None:
        """Outside a loop every write is known at once; inside, it waits for the end of the iteration."""
        origin = e.PatchOrigin(f"workflow/{self.run.step}/tool/{fact.task}", self.run.id, fact.task_run_id)
        self.facts.append(e.CtxPatched(fact.patch.ctx, origin))

    def place(self, path: e.Path) -> _Place | None:
        """The pipeline at a path, or None where none is in flight."""
        if path in self.places:
            return self.places[path]
        loop = loop_under(self.run, path[:-1]) if path else None
        holder = self.run if not path else loop.live.get(path[-1]) if loop is not None else None
        if holder is None or holder.cursor is None:
            return None
        found = _Place(holder.cursor, loop, is_parked=holder.is_parked)
        self.places[path] = found
        return found

    def end_of(self, place: _Place | None) -> Output | None:
        """The output of a pipeline that has ended: by a directive, or past its last task."""
        frame = place.cursor.top if place is not None and not place.is_parked else None
        if not isinstance(frame, Frame) or frame.call:
            return None
        if frame.end is None and frame.pc >= len(self.program.pipeline(self.run.step).tasks):
            return frame.output or NOTHING
        return frame.end


def _fits(cursor: Cursor, fact: WorkerFact) -> bool:
    match fact:
        case e.TaskStarted():
            return _can_start(cursor, fact)
        case e.TaskDone():
            return _can_end(cursor, fact)
        case e.TaskWaiting():
            return not fact.is_over and isinstance(cursor.top, Frame) and cursor.top.end is None
        case _:
            return cursor.top.call == fact.call


def _can_start(cursor: Cursor, fact: e.TaskStarted) -> bool:
    frame = cursor.top
    if not isinstance(frame, Frame) or frame.end is not None or fact.attempt != frame.attempt + 1:
        return False
    return fact.task_run_id.endswith(f".{fact.task}/{frame.runs.get(fact.task, 0) + 1}")


def _can_end(cursor: Cursor, fact: e.TaskDone) -> bool:
    frame = frame_of(cursor, fact)
    if frame is None or frame.end is not None or fact.attempt != frame.attempt:
        return False
    number = frame.runs.get(fact.task, 0)
    return fact.task_run_id.endswith(f".{fact.task}/{number if fact.ran else number + 1}")
