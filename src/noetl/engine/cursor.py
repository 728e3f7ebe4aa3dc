"""Where a pipeline stands: a stack of frames, rebuilt from its events at any point.

The bottom frame is the step's own pipeline; a `workbook` task puts the block's frame on top of it, and a
looped block puts a turn in between. `apply` is the only code that moves a cursor, on a worker and on replay alike.
"""

from collections.abc import Mapping
from typing import assert_never

import msgspec
from msgspec.structs import replace

from noetl.engine.events import (
    NO_PATCH,
    BlockLoop,
    Call,
    Child,
    IterationDone,
    IterationFailed,
    IterationStarted,
    Patch,
    Path,
    TaskDone,
    TaskStarted,
    TaskWaiting,
    Values,
)
from noetl.engine.lifted import DATA, with_names
from noetl.engine.output import NOTHING, Output, Status, previous
from noetl.engine.scopes import overlaid, patched
from noetl.playbook.model import Dialect, Directive

WorkerFact = TaskStarted | TaskDone | TaskWaiting | IterationStarted | IterationDone | IterationFailed

_OK = Status.OK
_SKIP, _RETRY, _FAIL = Directive.SKIP, Directive.RETRY, Directive.FAIL
"""In Python 3.11 a member of an enumeration takes longer to look up than a record to make."""


class Frame(msgspec.Struct, frozen=True, tag="frame", gc=False):
    """One running pipeline. `block` is empty for the step's own; `call` is the id of the task run that called it.

    `indexes` number the iteration of a looped block.
    `attempt` counts the runs of this visit and `visit` is the number of its first; `runs` counts over all visits.
    `base` is what `iter` began with in a block's iteration, and `iter` what was written to it since.
    `end` is there once a directive has ended the pipeline, badly where it `is_failed`.
    `wait` is the task run that waits: for `not_before`, or for `child`, whose output has `arrived` in the end.
    """

    block: str = ""
    call: str = ""
    indexes: Path = ()
    pc: int = 0
    attempt: int = 0
    visit: int = 0
    runs: Mapping[str, int] = {}
    outputs: Mapping[str, object] = {}
    prev: object = None
    output: Output | None = None
    output_kind: str = ""
    input: Values = {}
    step: Values = {}
    base: Values | None = None
    iter: Values = {}
    is_running: bool = False
    end: Output | None = None
    is_failed: bool = False
    wait: str = ""
    not_before: float | None = None
    child: Child | None = None
    arrived: Output | None = None


class Turn(msgspec.Struct, frozen=True, tag="turn"):
    """A looped block between two iterations: its items, how far it is, and what the iterations gave, in chunks.

    `indexes` number the iteration around an inner loop.
    """

    block: str
    call: str
    indexes: Path
    level: int
    loop: BlockLoop
    input: Values
    parent: Values | None
    step: Values = {}
    index: int = 0
    data: tuple[tuple[object, ...], ...] = ()
    failure: Output | None = None


class Cursor(msgspec.Struct, frozen=True, gc=False):
    """`ctx` holds what the pipeline wrote so far; `task_runs` is spent against the pipeline's budget."""

    frames: tuple[Frame | Turn, ...] = (Frame(),)
    task_runs: int = 0
    ctx: Values = {}

    @property
    def top(self) -> Frame | Turn:
        return self.frames[-1]


_FRESH = Cursor()


def start(step: Values) -> Cursor:
    """The cursor of a step run, or of an iteration, that has not begun. A sequential loop hands `step` on."""
    return Cursor((Frame(step=step),)) if step else _FRESH


def apply(cursor: Cursor, fact: WorkerFact, dialect: Dialect, kind: str) -> Cursor:
    """The cursor after a fact. `kind` is that of the task the fact speaks of."""
    match fact:
        case TaskStarted():
            return task_started(cursor, fact)
        case TaskDone():
            return task_done(cursor, fact, dialect, kind)
        case TaskWaiting():
            return task_waiting(cursor, fact)
        case IterationStarted():
            return _turn_started(cursor, fact)
        case IterationDone() | IterationFailed():
            return _turn_ended(cursor, fact)
        case _:
            assert_never(fact)


def iteration_scope(iterator: str, item: object, index: int, count: int, parent: Values | None) -> dict[str, object]:
    """What `iter` is when an iteration starts."""
    scope: dict[str, object] = {iterator: item, "index": index, "count": count}
    if parent is not None:
        scope["parent"] = parent
    return scope


def task_started(cursor: Cursor, fact: TaskStarted) -> Cursor:
    if fact.patch is not NO_PATCH:
        cursor = _patched(cursor, len(cursor.frames) - 1, fact.patch)
    frame = cursor.frames[-1]
    assert isinstance(frame, Frame)
    number = frame.runs.get(fact.task, 0) + 1
    moved = replace(
        frame,
        attempt=fact.attempt,
        visit=number if fact.attempt == 1 else frame.visit,
        runs={**frame.runs, fact.task: number},
        is_running=True,
        not_before=None,
    )
    frames = (*cursor.frames[:-1], moved)
    if fact.call is not None:
        frames = (*frames, _entered(fact.call, fact.task_run_id))
    return Cursor(frames, cursor.task_runs + 1, cursor.ctx)


def _entered(call: Call, task_run_id: str) -> Frame | Turn:
    if call.loop is None:
        return Frame(call.block, task_run_id, input=call.input)
    return Turn(call.block, task_run_id, (), 0, call.loop, call.input, call.parent)


def task_done(cursor: Cursor, fact: TaskDone, dialect: Dialect, kind: str) -> Cursor:
    depth = _depth_of(cursor, fact)
    if fact.patch is not NO_PATCH:
        cursor = _patched(cursor, depth, fact.patch)
    frame = cursor.frames[depth]
    assert isinstance(frame, Frame)
    spent = cursor.task_runs if fact.ran else cursor.task_runs + 1
    return Cursor((*cursor.frames[:depth], _after(frame, fact, dialect, kind)), spent, cursor.ctx)


def _after(frame: Frame, fact: TaskDone, dialect: Dialect, kind: str) -> Frame:
    directive, output = fact.directive, fact.output
    keeps = fact.ran and directive is not _SKIP
    is_data = keeps and output.status is _OK and kind != "noop"
    return replace(
        frame,
        pc=frame.pc if fact.next is None else fact.next,
        attempt=frame.attempt if directive is _RETRY else 0,
        runs=frame.runs if fact.ran else {**frame.runs, fact.task: frame.runs.get(fact.task, 0) + 1},
        not_before=fact.due_at,
        prev=previous(output, kind, dialect) if is_data else frame.prev,
        output=output if keeps else frame.output,
        output_kind=kind if keeps else frame.output_kind,
        outputs={**frame.outputs, fact.task: kept(output)} if keeps else frame.outputs,
        is_running=False,
        end=_end(frame, fact, keeps=keeps) if fact.next is None else None,
        is_failed=directive is _FAIL,
        child=None,
        arrived=None,
    )


def kept(output: Output) -> object:
    """What later templates read of a task or a step by its name."""
    return with_names({"data": output.data, "ref": output.ref, "status": str(output.status)}, output.selected, DATA)


def _end(frame: Frame, fact: TaskDone, *, keeps: bool) -> Output:
    """The output of a pipeline is that of its last task run."""
    if keeps or fact.directive is _FAIL:
        return fact.output
    return frame.output or NOTHING


def _patched(cursor: Cursor, depth: int, patch: Patch) -> Cursor:
    """What a `set` wrote to ctx is the cursor's; what it wrote to `step` and `iter` is that frame's."""
    frame = cursor.frames[depth]
    assert isinstance(frame, Frame)
    if patch.step or patch.iter:
        frame = replace(frame, step=patched(frame.step, patch.step), iter=overlaid(frame.iter, patch.iter))
    frames = (*cursor.frames[:depth], frame, *cursor.frames[depth + 1 :])
    return Cursor(frames, cursor.task_runs, overlaid(cursor.ctx, patch.ctx))


def task_waiting(cursor: Cursor, fact: TaskWaiting) -> Cursor:
    """A wait begins or is over. The child stays known until its output has been settled."""
    frame = cursor.top
    assert isinstance(frame, Frame)
    if fact.is_over:
        moved = replace(frame, wait="", not_before=None, arrived=fact.output)
    else:
        moved = replace(frame, wait=fact.task_run_id, not_before=fact.due_at, child=fact.child)
    return Cursor((*cursor.frames[:-1], moved), cursor.task_runs, cursor.ctx)


def _turn_started(cursor: Cursor, fact: IterationStarted) -> Cursor:
    turn = _turn(cursor.top)
    scratch = scratch_of(turn)
    indexes = next_turn(turn)
    inside: Frame | Turn
    if fact.loop is not None:
        inside = Turn(turn.block, turn.call, indexes, turn.level + 1, fact.loop, turn.input, scratch, turn.step)
    else:
        inside = Frame(turn.block, turn.call, indexes, input=turn.input, step=turn.step, base=scratch)
    return Cursor((*cursor.frames, inside), cursor.task_runs, cursor.ctx)


def next_turn(turn: Turn) -> Path:
    """The number of the iteration that starts next."""
    return (*turn.indexes, turn.index)


def scratch_of(turn: Turn) -> dict[str, object]:
    """What `iter` is at the start of the turn's next iteration."""
    items = turn.loop.items
    return iteration_scope(turn.loop.iterator, items[turn.index], turn.index, len(items), turn.parent)


def _turn_ended(cursor: Cursor, fact: IterationDone | IterationFailed) -> Cursor:
    turn = _turn(cursor.frames[-2])
    if isinstance(fact, IterationFailed):
        moved = replace(turn, failure=fact.output, index=turn.index + 1)
    else:
        data = _appended(turn.data, fact.output.data)
        moved = replace(turn, data=data, index=turn.index + 1, step=cursor.top.step)
    return Cursor((*cursor.frames[:-2], moved), cursor.task_runs, cursor.ctx)


def _appended(chunks: tuple[tuple[object, ...], ...], value: object) -> tuple[tuple[object, ...], ...]:
    """Chunks of equal length become one, so that there are few and each element is copied a few times only."""
    kept = list(chunks)
    last: tuple[object, ...] = (value,)
    while kept and len(kept[-1]) == len(last):
        last = (*kept.pop(), *last)
    return (*kept, last)


def frame_of(cursor: Cursor, fact: TaskDone) -> Frame | None:
    """The frame in which the task stands: below those of the block it called."""
    frame = cursor.frames[_depth_of(cursor, fact)]
    return frame if isinstance(frame, Frame) else None


def _depth_of(cursor: Cursor, fact: TaskDone) -> int:
    depth = len(cursor.frames) - 1
    while depth > 0 and cursor.frames[depth].call == fact.task_run_id:
        depth -= 1
    return depth


def is_over(turn: Turn) -> bool:
    """Whether a looped block has no further iteration: all have run, or one has failed."""
    return turn.failure is not None or turn.index >= len(turn.loop.items)


def _turn(frame: Frame | Turn) -> Turn:
    assert isinstance(frame, Turn)
    return frame
