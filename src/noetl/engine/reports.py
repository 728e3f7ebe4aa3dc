"""A worker's report: each fact must be the one that can come next, or all of it is refused.

The report is played through on cursors, which never change in place, so that a refusal leaves no trace.
"""

from collections.abc import Sequence

import msgspec

from noetl.engine import events as e
from noetl.engine.commands import Rejection, Reported
from noetl.engine.cursor import Cursor, Frame, WorkerFact, apply, frame_of, start
from noetl.engine.descendants import children_max
from noetl.engine.following import follows
from noetl.engine.loops import is_stopping, loop_under
from noetl.engine.output import failed
from noetl.engine.pipeline import Finished, end_of
from noetl.engine.program import Program
from noetl.engine.view import LoopView, RunView, StateView
from noetl.engine.workerside import pipeline_of
from noetl.playbook.model import LoopMode


def taken(program: Program, state: StateView, run: RunView, facts: Sequence[Reported]) -> list[e.Fact] | Rejection:
    """The facts as they enter the log, with the changes of ctx that they bring; or why they may not."""
    play = _Play(program, state, run)
    for fact in facts:
        if not play.take(fact):
            return Rejection("stale", f"{type(fact).__name__} does not follow what is recorded of {run.id}")
    return play.facts or Rejection("stale", f"nothing in the report is new to {run.id}")


class _Place:
    """A pipeline that the report speaks of, as it stands after the facts so far. `loop` is the one around it."""

    __slots__ = ("cursor", "is_parked", "loop")

    def __init__(self, cursor: Cursor, loop: LoopView | None, *, is_parked: bool = False) -> None:
        self.cursor = cursor
        self.loop = loop
        self.is_parked = is_parked


class _Play:
    """A report being played through. `places` lay over what the state holds; one that has ended is None there."""

    def __init__(self, program: Program, state: StateView, run: RunView) -> None:
        self.program = program
        self.state = state
        self.run = run
        self.facts: list[e.Fact] = []
        self.places: dict[e.Path, _Place | None] = {}
        self.opened: dict[e.Path, int] = {}
        self.step: dict[e.Path, e.Values] = {}
        self.is_started = run.is_started
        self.is_over = run.boundary is not None
        self.is_stopping = False
        self.children = state.children

    def take(self, fact: Reported) -> bool:
        if self.is_over or fact.step_run_id != self.run.id:
            return False
        if not self.is_started and not isinstance(fact, e.StepStarted):
            return False
        match fact:
            case e.TaskStarted() | e.TaskDone() | e.TaskWaiting():
                return self.pipeline_fact(fact)
            case e.StepDone() | e.StepFailed():
                return self.step_ended(fact)
            case e.IterationStarted(call=""):
                return self.iteration_started(fact)
            case e.IterationDone(call="") | e.IterationFailed(call=""):
                return self.iteration_ended(fact)
            case e.StepStarted():
                return self.step_started(fact)
            case _:
                return self.pipeline_fact(fact)

    def step_started(self, fact: e.StepStarted) -> bool:
        """Several workers may begin a loop at once: the first one to say so starts the step."""
        if self.is_started:
            return self.run.loop is not None
        self.is_started = True
        self.facts.append(fact)
        return True

    def step_ended(self, fact: e.StepDone | e.StepFailed) -> bool:
        end = self.end_of(self.place(()))
        if end is None or end.is_failed is not isinstance(fact, e.StepFailed):
            return False
        ended = e.StepFailed(self.run.id, end.output) if end.is_failed else e.StepDone(self.run.id, end.output)
        self.facts.append(ended)
        self.is_over = True
        return True

    def iteration_started(self, fact: e.IterationStarted) -> bool:
        loop = loop_under(self.run, fact.path[:-1]) if fact.path else None
        if loop is None or fact.by_server or not self.has_room(loop, fact.path):
            return False
        self.places[fact.path] = _Place(start(self.step.get(loop.path, loop.step)), loop)
        self.opened[loop.path] = self.opened.get(loop.path, 0) + 1
        self.facts.append(fact)
        return True

    def has_room(self, loop: LoopView, path: e.Path) -> bool:
        """Whether an iteration may start: in its turn, never before, and within `max_in_flight`."""
        index = path[-1]
        is_leaf = loop.level + 1 == len(self.program.steps[self.run.step].levels)
        if not is_leaf or not 0 <= index < loop.count or self.is_stopping or is_stopping(self.run, loop):
            return False
        if index in loop.live or index in loop.ended or path in self.places:
            return False
        if loop.mode is LoopMode.SEQUENTIAL and index > 0 and not self.has_ended(loop, index - 1):
            return False
        return len(loop.live) + self.opened.get(loop.path, 0) < loop.max_in_flight

    def has_ended(self, loop: LoopView, index: int) -> bool:
        path = (*loop.path, index)
        return index in loop.ended or (path in self.places and self.places[path] is None)

    def iteration_ended(self, fact: e.IterationDone | e.IterationFailed) -> bool:
        place = self.place(fact.path)
        end = self.end_of(place)
        if place is None or place.loop is None or end is None:
            return False
        if end.is_failed is not isinstance(fact, e.IterationFailed):
            return False
        self.places[fact.path] = None
        self.opened[place.loop.path] = self.opened.get(place.loop.path, 0) - 1
        if place.loop.mode is LoopMode.SEQUENTIAL:
            self.step[place.loop.path] = place.cursor.frames[0].step
        if end.is_failed:
            self.is_stopping = not self.program.steps[self.run.step].is_best_effort
            self.facts.append(e.IterationFailed(self.run.id, fact.path, end.output))
        else:
            self.iteration_done(fact.path, place.loop, place.cursor, end)
        return True

    def iteration_done(self, path: e.Path, loop: LoopView, cursor: Cursor, end: Finished) -> None:
        is_sequential = loop.mode is LoopMode.SEQUENTIAL
        carried = cursor.frames[0].step if is_sequential else {}
        self.facts.append(e.IterationDone(self.run.id, path, end.output, cursor.ctx, {}, carried))
        if is_sequential and not loop.path and cursor.ctx:
            origin = e.PatchOrigin(f"workflow/{self.run.step}/loop", self.run.id, iteration=path)
            self.facts.append(e.CtxPatched(cursor.ctx, origin))

    def pipeline_fact(self, fact: WorkerFact) -> bool:
        place = self.place(fact.path)
        if place is None or place.is_parked or not follows(self.program, self.state, self.run, place.cursor, fact):
            return False
        if isinstance(fact, e.TaskWaiting):
            self.waiting(place, fact)
            return True
        before = place.cursor
        self.move(place, fact)
        if not fact.path and isinstance(fact, e.TaskStarted | e.TaskDone) and fact.patch.ctx:
            self.ctx_changes(before, fact)
        return True

    def move(self, place: _Place, fact: WorkerFact) -> None:
        frame = frame_of(place.cursor, fact) if isinstance(fact, e.TaskDone) else None
        kind = ""
        if frame is not None:
            kind = pipeline_of(self.program, frame, self.run.step).tasks[frame.pc].task.kind
        place.cursor = apply(place.cursor, fact, self.program.playbook.dialect, kind)
        self.facts.append(fact)

    def waiting(self, place: _Place, fact: e.TaskWaiting) -> None:
        """The pipeline is parked; but a child too many never starts, and its call has failed at once."""
        place.is_parked = True
        if fact.child is None:
            self.move(place, fact)
            return
        if self.children < children_max(self.state):
            self.children += 1
            child = msgspec.structs.replace(fact.child, number=self.children)
            self.move(place, msgspec.structs.replace(fact, child=child))
            return
        message = f"this execution may start {children_max(self.state)} child executions and has started all of them"
        self.move(place, e.TaskWaiting(fact.step_run_id, fact.path, fact.task_run_id))
        refusal = failed("budget_exceeded", message)
        self.move(place, e.TaskWaiting(fact.step_run_id, fact.path, fact.task_run_id, is_over=True, output=refusal))

    def ctx_changes(self, cursor: Cursor, fact: e.TaskStarted | e.TaskDone) -> None:
        """Outside a loop every write is known at once; inside, it waits for the end of the iteration."""
        frame = cursor.top if isinstance(fact, e.TaskStarted) else frame_of(cursor, fact)
        assert isinstance(frame, Frame)
        task = pipeline_of(self.program, frame, self.run.step).tasks[frame.pc]
        rules = task.rules if isinstance(fact, e.TaskDone) and fact.ran else task.before
        rule = rules[fact.rule] if fact.rule is not None and rules is not None else None
        by_rule = rule.then.set if rule is not None else {}
        own = {key: value for key, value in fact.patch.ctx.items() if f"ctx.{key}" not in by_rule}
        ruled = {key: value for key, value in fact.patch.ctx.items() if f"ctx.{key}" in by_rule}
        for path, patch in ((task.path, own), (rule.path if rule is not None else "", ruled)):
            if patch:
                origin = e.PatchOrigin(f"{path}/set", self.run.id, fact.task_run_id)
                self.facts.append(e.CtxPatched(patch, origin))

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

    def end_of(self, place: _Place | None) -> Finished | None:
        """How a pipeline has ended: by a directive, or past its last task."""
        frame = place.cursor.top if place is not None and not place.is_parked else None
        if not isinstance(frame, Frame) or frame.call:
            return None
        return end_of(frame, self.program.pipeline(self.run.step))
