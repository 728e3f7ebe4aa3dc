"""Which fact of a pipeline can come next. A worker that runs the same engine never asks in vain; a lost one does."""

from collections.abc import Sequence

from noetl.engine import events as e
from noetl.engine.cursor import Cursor, Frame, Turn, WorkerFact, frame_of, is_over, next_turn
from noetl.engine.names import child_execution_id
from noetl.engine.pipeline import end_of
from noetl.engine.policy import ReadyRule
from noetl.engine.program import Program, ReadyTask
from noetl.engine.view import RunView, StateView
from noetl.engine.workerside import pipeline_of, run_id
from noetl.playbook.model import Directive

_ENDING = (Directive.BREAK, Directive.FAIL)


def follows(program: Program, state: StateView, run: RunView, cursor: Cursor, fact: WorkerFact) -> bool:
    match fact:
        case e.TaskStarted():
            return _can_start(program, run, cursor, fact)
        case e.TaskDone():
            return _can_end(program, run, cursor, fact)
        case e.TaskWaiting():
            return _can_wait(program, state, run, cursor, fact)
        case e.IterationStarted():
            return _can_start_turn(cursor.top, fact)
        case _:
            return _can_end_turn(program, run, cursor, fact)


def _can_start(program: Program, run: RunView, cursor: Cursor, fact: e.TaskStarted) -> bool:
    frame = cursor.top
    task = _current(program, run, frame)
    if not isinstance(frame, Frame) or task is None or frame.is_running or task.task.name != fact.task:
        return False
    if fact.attempt != frame.attempt + 1 or not _is_known(fact.rule, task.before):
        return False
    if fact.call is not None and fact.call.block != task.task.fields.get("task"):
        return False
    return fact.task_run_id == run_id(frame, run.id, fact.path, fact.task, frame.runs.get(fact.task, 0) + 1)


def _can_end(program: Program, run: RunView, cursor: Cursor, fact: e.TaskDone) -> bool:
    frame = frame_of(cursor, fact)
    task = _current(program, run, frame)
    if frame is None or task is None or task.task.name != fact.task or frame.is_running is not fact.ran:
        return False
    if frame is not cursor.top and not _has_ended(program, run, cursor):
        return False
    number = frame.runs.get(fact.task, 0) + (0 if fact.ran else 1)
    is_here = fact.task_run_id == run_id(frame, run.id, fact.path, fact.task, number)
    if not is_here or not _is_known(fact.rule, task.rules or () if fact.ran else task.before):
        return False
    return fact.attempt == frame.attempt and _leads_on(program, run, frame, fact)


def _is_known(rule: int | None, rules: Sequence[ReadyRule]) -> bool:
    return rule is None or 0 <= rule < len(rules)


def _leads_on(program: Program, run: RunView, frame: Frame, fact: e.TaskDone) -> bool:
    """A task to go on with, in this pipeline, unless the directive ends it."""
    if fact.directive in _ENDING:
        return fact.next is None
    return fact.next is not None and 0 <= fact.next <= len(pipeline_of(program, frame, run.step).tasks)


def _can_wait(program: Program, state: StateView, run: RunView, cursor: Cursor, fact: e.TaskWaiting) -> bool:
    frame = cursor.top
    task = _current(program, run, frame)
    if not isinstance(frame, Frame) or task is None or fact.is_over:
        return False
    number = frame.runs.get(task.task.name, 0) + (0 if frame.is_running else 1)
    if fact.task_run_id != run_id(frame, run.id, fact.path, task.task.name, number):
        return False
    if fact.child is None:
        return not frame.is_running and fact.due_at is not None and fact.due_at == frame.not_before
    is_own = fact.child.execution_id == child_execution_id(state.execution_id, fact.task_run_id)
    return frame.is_running and frame.child is None and task.task.kind == "playbook" and is_own


def _can_start_turn(turn: Frame | Turn, fact: e.IterationStarted) -> bool:
    """The numbers of the iteration tell a report that comes twice from one of the next iteration."""
    if not isinstance(turn, Turn) or turn.call != fact.call or is_over(turn):
        return False
    return fact.turn == next_turn(turn)


def _can_end_turn(program: Program, run: RunView, cursor: Cursor, fact: e.IterationDone | e.IterationFailed) -> bool:
    """The end of an iteration of a looped block. One whose inner collection is no list fails as it starts."""
    turn = cursor.frames[-2] if len(cursor.frames) > 1 else None
    if not isinstance(turn, Turn) or cursor.top.call != fact.call or cursor.top.indexes != fact.turn:
        return False
    block = program.block(turn.block)
    if isinstance(cursor.top, Frame) and block is not None and turn.level + 1 < len(block.levels):
        return isinstance(fact, e.IterationFailed)
    return _has_ended(program, run, cursor) and _has_failed(cursor) is isinstance(fact, e.IterationFailed)


def _has_ended(program: Program, run: RunView, cursor: Cursor) -> bool:
    """Whether what stands on top is over."""
    if isinstance(cursor.top, Turn):
        return is_over(cursor.top)
    return end_of(cursor.top, pipeline_of(program, cursor.top, run.step)) is not None


def _has_failed(cursor: Cursor) -> bool:
    return cursor.top.failure is not None if isinstance(cursor.top, Turn) else cursor.top.is_failed


def _current(program: Program, run: RunView, frame: Frame | Turn | None) -> ReadyTask | None:
    """The task at which a frame stands; None where its pipeline has ended."""
    if not isinstance(frame, Frame) or frame.end is not None:
        return None
    tasks = pipeline_of(program, frame, run.step).tasks
    return tasks[frame.pc] if frame.pc < len(tasks) else None
