"""The progress of an execution from its state: what its events would have told, without reading them all."""

from collections.abc import Iterator, Mapping

from noetl.cli.live.progress import Doing, IterationLine, Progress, StepLine
from noetl.cli.live.words import item_label, retry_reason, visit
from noetl.engine.cursor import Cursor, Frame
from noetl.engine.events import Path
from noetl.engine.program import Program
from noetl.engine.state import LoopRun, State, StepRun, Tally
from noetl.engine.workerside import pipeline_of, run_id
from noetl.ports import Summary


def progress_of(program: Program, state: State, summary: Summary, times: Mapping[int, float]) -> Progress:
    """`times` are those of the events that the tallies of the state name, as far as they are wanted."""
    progress = Progress(program.playbook.metadata.name, state.execution_id, list(program.steps))
    progress.started_at = summary.started_at
    if state.has_ended:
        progress.status, progress.output, progress.error = state.status, state.output, state.error
        progress.ended_at = summary.changed_at
    for name, tally in state.steps.items():
        _count(progress.steps[name], tally, times)
    for run in state.runs.values():
        if run.boundary is None:
            _in_flight(progress.steps[run.step], program, run)
    return progress


def numbers_of(state: State) -> Iterator[int]:
    """The events whose times a picture shows."""
    for tally in state.steps.values():
        yield from (number for number in (tally.begun, tally.ended) if number)


def _count(line: StepLine, tally: Tally, times: Mapping[int, float]) -> None:
    line.fate, line.last, line.error = tally.status, tally.last, tally.error
    line.runs, line.retries = tally.runs, tally.retries
    line.done, line.failed, line.total = tally.done, tally.failed, tally.total
    line.started_at, line.ended_at = times.get(tally.begun), times.get(tally.ended)


def _in_flight(line: StepLine, program: Program, run: StepRun) -> None:
    line.live.add(run.id)
    if run.id != line.last:
        return
    if run.loop is not None:
        line.done, line.failed, line.total = run.loop.succeeded, run.loop.failed, run.loop.count
        for path, shown in _iterations(program, run, run.loop):
            line.running[path] = shown
    elif run.cursor is not None:
        line.doing = _doing(program, run, (), run.cursor)


def _iterations(program: Program, run: StepRun, loop: LoopRun) -> Iterator[tuple[Path, IterationLine]]:
    for index, iteration in loop.live.items():
        path = (*loop.path, index)
        shown = IterationLine(path, item_label(loop.collection, index))
        if iteration.cursor is not None:
            shown.doing = _doing(program, run, path, iteration.cursor)
        yield path, shown
        if iteration.loop is not None:
            yield from _iterations(program, run, iteration.loop)


def _doing(program: Program, run: StepRun, path: Path, cursor: Cursor) -> Doing:
    frame = cursor.top
    if isinstance(frame, Frame) and frame.child is not None and frame.arrived is None:
        return Doing(f"waits for {frame.child.path}")
    if not isinstance(frame, Frame) or not (frame.is_running or frame.attempt):
        return Doing()
    task = pipeline_of(program, frame, run.step).tasks[frame.pc].task.name
    text = visit(run_id(frame, run.id, path, task, frame.runs[task]))
    if frame.is_running:
        return Doing(text)
    return Doing(text, True, frame.not_before, retry_reason(frame.output) if frame.output is not None else "")
