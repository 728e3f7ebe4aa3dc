"""What a live execution is waiting for, one answer for each thing that is in flight."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from itertools import chain, islice
from typing import assert_never

import msgspec

from noetl.engine.cursor import Cursor, Frame
from noetl.engine.events import Path
from noetl.engine.incidents import Incident
from noetl.engine.leases import Work
from noetl.engine.names import entity_id
from noetl.engine.program import Program
from noetl.engine.state import LoopRun, State, StepRun
from noetl.engine.workerside import pipeline_of, run_id
from noetl.engine.worklist import Row
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
    `reason` is why only an operator can help, or why the `task` runs again when the timer is due.
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
    task: str = ""

    @property
    def text(self) -> str:
        return f"{self.id} waits for {_object(self)}"


def explain_waits(
    program: Program, state: State, incidents: Sequence[Incident] = (), work: Mapping[Row, Work] | None = None
) -> tuple[Wait, ...]:
    """Nothing where the execution has ended. What has an incident waits for an operator and nothing else.

    `work` is the store's: its leases say which worker has what.
    """
    helped = explain_incidents(incidents)
    if any(incident.parks for incident in incidents):
        return helped
    stuck = {wait.id for wait in helped}
    others = (wait for wait in _Waits(program, state, work or {}).all() if wait.id not in stuck)
    return tuple(islice(chain(helped, others), WAITS_MAX))


def explain_incidents(incidents: Sequence[Incident]) -> tuple[Wait, ...]:
    """They need no playbook and no log: an execution may be parked because one of them cannot be read."""
    return tuple(
        Wait(For.OPERATOR, incident.where, since=incident.since, reason=f"{incident.message}; {incident.remedy}")
        for incident in incidents
    )


class _Waits:
    def __init__(self, program: Program, state: State, work: Mapping[Row, Work]) -> None:
        self.program = program
        self.state = state
        self.work = work

    def all(self) -> Iterator[Wait]:
        for run in self.state.runs.values():
            if run.loop is not None:
                yield from self.of_loop(run, run.loop)
            elif run.cursor is not None:
                yield self.of_pipeline(run, (), run.cursor)
        yield from _at_doors(self.program, self.state)

    def of_loop(self, run: StepRun, loop: LoopRun) -> Iterator[Wait]:
        left = loop.count - loop.succeeded - loop.failed - len(loop.live)
        if left and loop.failure is None:
            yield Wait(For.ITERATIONS, entity_id(run.id, loop.path), left=left, in_flight=len(loop.live))
        for index, iteration in loop.live.items():
            if iteration.loop is not None:
                yield from self.of_loop(run, iteration.loop)
            elif iteration.cursor is not None:
                yield self.of_pipeline(run, (*loop.path, index), iteration.cursor)

    def of_pipeline(self, run: StepRun, path: Path, cursor: Cursor) -> Wait:
        id_, frame = entity_id(run.id, path), cursor.top
        if isinstance(frame, Frame) and frame.child is not None and frame.arrived is None:
            return Wait(For.CHILD, id_, child=frame.child.execution_id, task_run_id=frame.wait)
        if isinstance(frame, Frame) and frame.not_before is not None:
            return self.of_timer(id_, run, frame)
        worker = _holder(self.work.get((run.id, path[:-1])), path[-1] if path else 0)
        if isinstance(frame, Frame) and frame.is_running and frame.child is None:
            return Wait(For.TASK, id_, worker, self.task_run(run, path, frame))
        return Wait(For.WORKER, id_, worker)

    def of_timer(self, id_: str, run: StepRun, frame: Frame) -> Wait:
        """A task that is to run again, and what it came to before."""
        task = pipeline_of(self.program, frame, run.step).tasks[frame.pc].task.name
        error = frame.output.error if frame.output is not None else None
        return Wait(For.TIMER, id_, until=frame.not_before, task=task, reason=error.message if error else "")

    def task_run(self, run: StepRun, path: Path, frame: Frame) -> str:
        task = pipeline_of(self.program, frame, run.step).tasks[frame.pc].task.name
        return run_id(frame, run.id, path, task, frame.runs[task])


def _holder(work: Work | None, index: int) -> str | None:
    leases = work.leases if work is not None else ()
    held = (each.worker for each in leases if index in each.running or each.next <= index < each.stop)
    return next(held, None)


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
            again = f" to run task `{wait.task}` again" if wait.task else ""
            return f"a timer that is due at {_clock(wait.until)}{again}{f': {wait.reason}' if wait.reason else ''}"
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
