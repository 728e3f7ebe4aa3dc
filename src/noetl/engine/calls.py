"""Calls of workbook blocks: what a call brings, and a looped block between two of its iterations."""

import msgspec

from noetl.engine.binding import BindingFailed, Scope
from noetl.engine.cursor import Frame, Turn, WorkerFact, next_turn, scratch_of
from noetl.engine.events import BlockLoop, Call, IterationDone, IterationFailed, IterationStarted, TaskDone, Values
from noetl.engine.output import Error, Loop, Output, Status
from noetl.engine.program import Program, ReadyBlock, ReadyLevel, ReadyTask
from noetl.engine.reference import GONE, check_whole, word_of
from noetl.engine.settling import settled
from noetl.engine.workerside import Standing, block_loop_scope
from noetl.errors import TemplateError

CALLS_DEPTH_MAX = 32
"""The deepest chain of calls."""


def call_of(standing: Standing, task: ReadyTask, scope: Scope) -> Call | Output:
    """What a task calls, or the output that says why it cannot."""
    name = str(task.task.fields.get("task", ""))
    block = standing.program.block(name)
    assert block is not None
    around = _blocks_around(standing)
    if len(around) >= CALLS_DEPTH_MAX:
        return _failure(_too_deep(standing, task, [*around, name]))
    try:
        return _call(standing, task, scope, block)
    except BindingFailed as failure:
        return _failure(failure.error)


def _blocks_around(standing: Standing) -> list[str]:
    """The blocks that are called at this point, from the outermost on. The frames of a looped one share their call."""
    return list({frame.call: frame.block for frame in standing.cursor.frames if frame.call}.values())


def _too_deep(standing: Standing, task: ReadyTask, names: list[str]) -> Error:
    """Names the circle that the last call closes, or the whole chain where there is none."""
    again = next((at for at in range(len(names) - 2, 0, -1) if names[at] == names[-1]), 0)
    message = f"calls of workbook blocks may be nested {CALLS_DEPTH_MAX} deep, and here they are: "
    return standing.program.places.refusal("budget_exceeded", message + " → ".join(names[again:]), f"{task.path}/task")


def _call(standing: Standing, task: ReadyTask, scope: Scope, block: ReadyBlock) -> Call:
    """The block's defaults, under the input of the step, under that of the call itself."""
    outer, bound, defaults = scope["input"], task.input(scope), block.input(scope)
    assert isinstance(outer, dict)
    own = {**defaults, **outer, **bound}
    if not block.levels:
        return Call(block.block.name, own)
    loop = _loop(standing, block, 0, own, None)
    parent = scope.get("iter")
    if GONE in scope:
        _check_whole(standing, task, parent)
    return Call(block.block.name, own, loop, parent if isinstance(parent, dict) else None)


def _check_whole(standing: Standing, task: ReadyTask, parent: object) -> None:
    """A looped block has the iteration around it recorded with its call."""
    try:
        check_whole(parent)
    except TemplateError as gone:
        message = f"{gone.message}, in `iter` as the block sees it"
        places = standing.program.places
        raise BindingFailed(places.refusal(gone.kind, message, f"{task.path}/task", retryable=gone.retryable)) from gone


def turn_facts(standing: Standing, turn: Turn) -> tuple[WorkerFact, ...]:
    """A looped block between two iterations: the next one starts with the loop inside it, if there is one."""
    run, path = standing.given.step_run_id, standing.given.path
    block = standing.program.block(turn.block)
    assert block is not None
    indexes = next_turn(turn)
    if turn.level + 1 == len(block.levels):
        return (IterationStarted(run, path, turn.call, turn=indexes),)
    try:
        loop = _loop(standing, block, turn.level + 1, turn.input, scratch_of(turn))
    except BindingFailed as failure:
        started = IterationStarted(run, path, turn.call, turn=indexes)
        return started, IterationFailed(run, path, _failure(failure.error), turn.call, turn=indexes)
    return (IterationStarted(run, path, turn.call, loop, turn=indexes),)


def iteration_end(standing: Standing, call: str, output: Output, *, is_failed: bool) -> IterationDone | IterationFailed:
    run, path, indexes = standing.given.step_run_id, standing.given.path, standing.cursor.top.indexes
    if is_failed:
        return IterationFailed(run, path, output, call, turn=indexes)
    return IterationDone(run, path, output, call=call, turn=indexes)


def settle_call(standing: Standing, output: Output) -> TaskDone:
    """The block on top has ended: its output is that of the task that called it.

    The caller's rules see what the call itself gave, and not the defaults of the block.
    """
    cursor = standing.cursor
    call, bound = cursor.top.call, cursor.top.input
    caller = next(frame for frame in reversed(cursor.frames) if frame.call != call)
    assert isinstance(caller, Frame)
    task = standing.pipeline(caller).tasks[caller.pc].task
    return settled(standing, caller, output, {name: bound[name] for name in task.input})


def turn_output(turn: Turn) -> Output:
    total = len(turn.loop.items)
    failures = 0 if turn.failure is None else 1
    counts = Loop(total, turn.index - failures, failures, total - turn.index)
    if turn.failure is not None:
        return msgspec.structs.replace(turn.failure, loop=counts)
    return Output(data=[data for chunk in turn.data for data in chunk], loop=counts)


def _loop(standing: Standing, block: ReadyBlock, level: int, own: Values, scratch: Values | None) -> BlockLoop:
    ready = block.levels[level]
    names = tuple(each.loop.iterator for each in block.levels[:level])
    items = ready.items(block_loop_scope(standing, own, names, scratch))
    return BlockLoop(ready.loop.iterator, _as_items(standing.program, ready, items))


def _as_items(program: Program, level: ReadyLevel, items: object) -> list[object]:
    if isinstance(items, list | tuple):
        return list(items)
    message = f"`loop.in` must give a list, and gave {word_of(items)}"
    raise BindingFailed(program.places.refusal("loop_collection", message, f"{level.path}/in"))


def _failure(error: Error) -> Output:
    return Output(status=Status.ERROR, error=error)
