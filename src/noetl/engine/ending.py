"""How an execution ends: completed, failed or cancelled, once and for good."""

from collections.abc import Iterator

from noetl.engine.cursor import Frame
from noetl.engine.events import ExecutionCancelled, Fact, PlaybookProcessed, WorkflowFinished
from noetl.engine.output import Error, Output, Status
from noetl.engine.view import IterationView, RunView, StateView


def completed(state: StateView) -> list[Fact]:
    return [WorkflowFinished("completed", state.output), PlaybookProcessed("completed")]


def stopped(state: StateView, error: Error, output: Output | None = None) -> list[Fact]:
    """The execution fails here and now; what still runs is taken back."""
    given = output if output is not None else Output(status=Status.ERROR, error=error)
    return [WorkflowFinished("failed", given, error, live_children(state)), PlaybookProcessed("failed")]


def cancelled(state: StateView, reason: str | None, children: tuple[str, ...] | None = None) -> list[Fact]:
    """`children` are those to be ended too, where the state does not know them."""
    error = Error("cancelled", reason or "the execution was cancelled")
    output = Output(status=Status.ERROR, error=error)
    return [
        ExecutionCancelled(reason),
        WorkflowFinished("cancelled", output, error, live_children(state) if children is None else children),
        PlaybookProcessed("cancelled"),
    ]


def live_children(state: StateView) -> tuple[str, ...]:
    """The child executions that parked pipelines wait for."""
    return tuple(child for run in state.runs.values() for child in children_of(run))


def children_of(holder: RunView | IterationView) -> Iterator[str]:
    """Those of one step run, or of one iteration."""
    frame = holder.cursor.top if holder.cursor is not None else None
    if isinstance(frame, Frame) and frame.child is not None and frame.arrived is None:
        yield frame.child.execution_id
    for iteration in holder.loop.live.values() if holder.loop is not None else ():
        yield from children_of(iteration)
