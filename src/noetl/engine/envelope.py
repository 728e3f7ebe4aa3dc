"""The envelope of an event: when, where and in what order a fact was recorded."""

from collections.abc import Iterable
from typing import assert_never

import msgspec

from noetl.engine import events as e
from noetl.engine.names import entity_id, task_label
from noetl.engine.output import Status

NAMES: dict[type[e.Body], tuple[str, str]] = {
    e.ExecutionRequested: ("playbook.execution.requested", "playbook"),
    e.RequestEvaluated: ("playbook.request.evaluated", "playbook"),
    e.WorkflowStarted: ("workflow.started", "workflow"),
    e.StepScheduled: ("step.scheduled", "step"),
    e.StepSkipped: ("step.skipped", "step"),
    e.LoopStarted: ("loop.started", "loop"),
    e.LoopDone: ("loop.done", "loop"),
    e.CtxPatched: ("ctx.patched", "workflow"),
    e.NextEvaluated: ("next.evaluated", "next"),
    e.ExecutionCancelled: ("execution.cancelled", "workflow"),
    e.WorkflowFinished: ("workflow.finished", "workflow"),
    e.PlaybookProcessed: ("playbook.processed", "playbook"),
    e.StepStarted: ("step.started", "step"),
    e.TaskStarted: ("task.started", "task"),
    e.TaskDone: ("task.done", "task"),
    e.TaskWaiting: ("task.waiting", "task"),
    e.IterationStarted: ("loop.iteration.started", "loop"),
    e.IterationDone: ("loop.iteration.done", "loop"),
    e.IterationFailed: ("loop.iteration.failed", "loop"),
    e.StepDone: ("step.done", "step"),
    e.StepFailed: ("step.failed", "step"),
}
"""Of each fact its name in the log and the kind of thing it speaks of."""

_ALWAYS_WORKER = (e.StepStarted, e.TaskStarted, e.TaskDone)
_MAYBE_WORKER = (e.IterationStarted, e.IterationDone, e.IterationFailed, e.StepDone, e.StepFailed)


class Event(msgspec.Struct, frozen=True):
    """A recorded fact. `version` is that of the payload's form."""

    event_id: str
    execution_id: str
    seq: int
    timestamp: float
    source: str
    name: str
    entity_type: str
    entity_id: str
    status: str
    payload: e.Body
    step_run_id: str | None = None
    iteration_id: str | None = None
    task_run_id: str | None = None
    task_label: str | None = None
    attempt: int | None = None
    parent_execution_id: str | None = None
    version: int = e.EVENT_VERSION

    @property
    def fact(self) -> e.Fact:
        return self.payload  # type: ignore[return-value]


def stamp(
    facts: Iterable[e.Fact], *, execution_id: str, after: int, timestamp: float, parent: str | None
) -> list[Event]:
    """Facts as events that follow number `after` of their execution. Times are kept to the microsecond, as in JSON."""
    at = round(timestamp, 6)
    return [_stamped(fact, execution_id, after + offset, at, parent) for offset, fact in enumerate(facts, 1)]


def _stamped(fact: e.Fact, execution_id: str, seq: int, timestamp: float, parent: str | None) -> Event:
    name, entity_type = NAMES[type(fact)]
    step_run_id, path, task_run_id, label, attempt = _where(fact)
    iteration = entity_id(step_run_id, path) if step_run_id is not None and path else None
    return Event(
        f"{execution_id}:{seq}",
        execution_id,
        seq,
        timestamp,
        _source(fact),
        name,
        entity_type,
        task_run_id or iteration or step_run_id or execution_id,
        _status(fact),
        fact,
        step_run_id,
        iteration,
        task_run_id,
        label,
        attempt,
        parent,
    )


def _where(fact: e.Fact) -> tuple[str | None, e.Path, str | None, str | None, int | None]:
    match fact:
        case e.TaskStarted() | e.TaskDone():
            return fact.step_run_id, fact.path, fact.task_run_id, fact.task, fact.attempt
        case e.TaskWaiting():
            return fact.step_run_id, fact.path, fact.task_run_id, task_label(fact.task_run_id), None
        case e.IterationStarted() | e.IterationDone() | e.IterationFailed():
            label = task_label(fact.call) if fact.call else None
            return fact.step_run_id, fact.path, fact.call or None, label, None
        case e.LoopStarted() | e.LoopDone():
            return fact.step_run_id, fact.path, None, None, None
        case e.StepScheduled() | e.StepStarted() | e.StepDone() | e.StepFailed() | e.NextEvaluated():
            return fact.step_run_id, (), None, None, None
        case e.CtxPatched():
            origin = fact.origin
            label = task_label(origin.task_run_id) if origin.task_run_id is not None else None
            return origin.step_run_id, origin.iteration, origin.task_run_id, label, None
        case _:
            return None, (), None, None, None


def _source(fact: e.Fact) -> str:
    if isinstance(fact, _ALWAYS_WORKER):
        return "worker"
    if isinstance(fact, _MAYBE_WORKER):
        return "server" if fact.by_server else "worker"
    if isinstance(fact, e.TaskWaiting):
        return "server" if fact.is_over else "worker"
    return "server"


def _status(fact: e.Fact) -> str:
    match fact:
        case e.TaskDone():
            return "success" if fact.output.status is Status.OK else "error"
        case e.StepFailed() | e.IterationFailed() | e.ExecutionCancelled():
            return "error"
        case e.StepSkipped():
            return "skipped"
        case e.RequestEvaluated() | e.NextEvaluated():
            return "error" if fact.error is not None else "success"
        case e.WorkflowFinished() | e.PlaybookProcessed():
            return "success" if fact.status == "completed" else "error"
        case e.TaskWaiting():
            return "success" if fact.is_over else "in_progress"
        case (
            e.ExecutionRequested() | e.WorkflowStarted() | e.StepScheduled() | e.LoopStarted() | e.StepStarted()
            | e.TaskStarted() | e.IterationStarted()
        ):  # fmt: skip
            return "in_progress"
        case e.StepDone() | e.IterationDone() | e.LoopDone() | e.CtxPatched():
            return "success"
        case _:
            assert_never(fact)
