"""What a live execution is waiting for, one answer for each thing that is in flight."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from itertools import chain, islice
from typing import assert_never

import msgspec

from noetl.engine import events as e
from noetl.engine.cursor import Cursor, Frame
from noetl.engine.envelope import Event
from noetl.engine.evolve import fold
from noetl.engine.incidents import Incident
from noetl.engine.names import entity_id
from noetl.engine.program import Program
from noetl.engine.state import LoopRun, State, StepRun
from noetl.playbook.model import Join

WAITS_MAX = 1_000
"""The most answers given; a loop with more in flight is known by its counts."""


class For(StrEnum):
    WORKER = "worker"
    TASK = "task"
    TIMER = "timer"
    CHILD = "child"
    ITERATIONS = "iterations"
    JOIN = "join"
    ADMISSION = "admission"
    OPERATOR = "operator"


class Wait(msgspec.Struct, frozen=True):
    """`id` is the step run or iteration that waits, or the step at whose door a token stands.

    `left` counts iterations that have not started. `may_come` are the steps from which a join's tokens may still come.
    `reason` is why only an operator can help.
    """

    kind: For
    id: str
    worker: str | None = None
    task_run_id: str | None = None
    since: float | None = None
    until: float | None = None
    child: str | None = None
    left: int = 0
    in_flight: int = 0
    tokens: int = 0
    may_come: tuple[str, ...] = ()
    reason: str = ""

    @property
    def text(self) -> str:
        return f"{self.id} waits for {_object(self)}"


def explain_waits(
    program: Program, execution_id: str, events: Sequence[Event], incidents: Sequence[Incident] = ()
) -> tuple[Wait, ...]:
    """Nothing where the execution has ended. What has an incident waits for an operator and nothing else."""
    helped = explain_incidents(incidents)
    if any(incident.parks for incident in incidents):
        return helped
    state = fold(program, execution_id, (event.fact for event in events))
    stuck = {wait.id for wait in helped}
    others = (wait for wait in _waits(program, state, _Watch(events)) if wait.id not in stuck)
    return tuple(islice(chain(helped, others), WAITS_MAX))


def explain_incidents(incidents: Sequence[Incident]) -> tuple[Wait, ...]:
    """They need no playbook and no log: an execution may be parked because one of them cannot be read."""
    return tuple(
        Wait(For.OPERATOR, incident.where, since=incident.since, reason=f"{incident.message}; {incident.remedy}")
        for incident in incidents
    )


class _Watch:
    """What the state does not hold: who took a run, and which task runs were started when."""

    def __init__(self, events: Sequence[Event]) -> None:
        self.workers: dict[str, str] = {}
        self.started: dict[str, Event] = {}
        self.woken: set[str] = set()
        for event in events:
            fact = event.payload
            if isinstance(fact, e.StepStarted):
                self.workers[fact.step_run_id] = fact.worker
            elif isinstance(fact, e.TaskStarted | e.TaskDone | e.TaskWaiting | e.IterationDone | e.IterationFailed):
                self.see(entity_id(fact.step_run_id, fact.path), event, fact)

    def see(
        self,
        id_: str,
        event: Event,
        fact: e.TaskStarted | e.TaskDone | e.TaskWaiting | e.IterationDone | e.IterationFailed,
    ) -> None:
        """A worker speaks of a pipeline, and so has it; or its wait is over, and any worker may take it."""
        if isinstance(fact, e.TaskWaiting):
            self.woken.add(id_)
            return
        self.woken.discard(id_)
        if isinstance(fact, e.TaskStarted):
            self.started[id_] = event
        else:
            self.started.pop(id_, None)


def _waits(program: Program, state: State, watch: _Watch) -> Iterator[Wait]:
    for run in state.runs.values():
        if run.loop is not None:
            yield from _of_loop(run, run.loop, watch)
        elif run.cursor is not None:
            yield _of_pipeline(run.id, run.cursor, watch, watch.workers.get(run.id))
    yield from _at_doors(program, state)


def _of_loop(run: StepRun, loop: LoopRun, watch: _Watch) -> Iterator[Wait]:
    left = loop.count - loop.succeeded - loop.failed - len(loop.live)
    if left and loop.failure is None:
        yield Wait(For.ITERATIONS, entity_id(run.id, loop.path), left=left, in_flight=len(loop.live))
    for index, iteration in loop.live.items():
        if iteration.loop is not None:
            yield from _of_loop(run, iteration.loop, watch)
        elif iteration.cursor is not None:
            id_ = entity_id(run.id, (*loop.path, index))
            yield _of_pipeline(id_, iteration.cursor, watch, watch.workers.get(run.id))


def _of_pipeline(id_: str, cursor: Cursor, watch: _Watch, worker: str | None) -> Wait:
    frame = cursor.top
    task = watch.started.get(id_)
    if isinstance(frame, Frame) and frame.child is not None and frame.arrived is None:
        return Wait(For.CHILD, id_, child=frame.child.execution_id, task_run_id=_task_run(task))
    if isinstance(frame, Frame) and frame.not_before is not None:
        return Wait(For.TIMER, id_, until=frame.not_before)
    if id_ in watch.woken:
        return Wait(For.WORKER, id_)
    if task is not None:
        return Wait(For.TASK, id_, worker, _task_run(task), task.timestamp)
    return Wait(For.WORKER, id_, worker)


def _task_run(task: Event | None) -> str | None:
    return task.task_run_id if task is not None else None


def _at_doors(program: Program, state: State) -> Iterator[Wait]:
    doors: dict[str, int] = {}
    for token in state.waiting:
        doors[token.step] = doors.get(token.step, 0) + 1
    for step, tokens in doors.items():
        if program.steps[step].step.join is Join.ALL:
            yield Wait(For.JOIN, step, tokens=tokens, may_come=_may_come(program.reach, state, step))
        else:
            yield Wait(For.ADMISSION, step, tokens=tokens)


def _may_come(reach: Mapping[str, frozenset[str]], state: State, join: str) -> tuple[str, ...]:
    """The live runs, and the steps with waiting tokens, from which the join can still be reached."""
    runs = [run.id for run in state.runs.values() if join in reach[run.step]]
    doors = {token.step for token in state.waiting if token.step != join and join in reach[token.step]}
    return (*runs, *sorted(doors))


def _object(wait: Wait) -> str:
    match wait.kind:
        case For.WORKER:
            return f"worker {wait.worker} to go on" if wait.worker else "a worker to take it"
        case For.TASK:
            where = f" on worker {wait.worker}" if wait.worker else ""
            return f"task run {wait.task_run_id}{where}"
        case For.TIMER:
            return f"a timer that is due at {_clock(wait.until)}"
        case For.CHILD:
            return f"child execution {wait.child}"
        case For.ITERATIONS:
            return f"{wait.left} iterations that have not started; {wait.in_flight} are in flight"
        case For.JOIN:
            come = f"tokens that may still come from {', '.join(wait.may_come)}" if wait.may_come else "its turn"
            return f"{come}; {wait.tokens} stand at the join"
        case For.ADMISSION:
            return f"its admission rules to let {wait.tokens} in; they are tried again when ctx changes"
        case For.OPERATOR:
            return f"an operator: {wait.reason}"
        case _:
            assert_never(wait.kind)


def _clock(at: float | None) -> str:
    return datetime.fromtimestamp(at or 0.0, UTC).isoformat(timespec="seconds")
