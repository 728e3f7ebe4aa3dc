"""Loops on the server: the collection is taken once, outer iterations are opened, and the end is drawn together."""

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import islice
from typing import TypeGuard

import msgspec

from noetl.engine.binding import BindingFailed, Scope, shown
from noetl.engine.cursor import iteration_scope
from noetl.engine.ending import children_of, stopped
from noetl.engine.events import (
    CtxPatched,
    Fact,
    IterationDone,
    IterationFailed,
    IterationStarted,
    LoopDone,
    LoopStarted,
    PatchOrigin,
    Path,
    StepDone,
    StepFailed,
    Values,
)
from noetl.engine.output import NOTHING, Loop, Output, Status, failed
from noetl.engine.program import Program, ReadyLevel
from noetl.engine.reducing import can_start, needs, own_copy, reduce_onto
from noetl.engine.reference import LOOP_REFERENCE, External, Loss, Lost, Reference, ReferenceMeta, word_of
from noetl.engine.scopes import patched
from noetl.engine.serverside import looping
from noetl.engine.size import hydrate, owner_of
from noetl.engine.view import GatheredView, LoopView, RunView, StateView, Stored
from noetl.errors import TemplateError
from noetl.playbook.model import LoopMode, Reducer

Reducers = Mapping[str, Reducer]

ENDED_AT_ONCE_MAX = 100
"""The most waiting iterations of a loop that stops which one decision ends."""

_STOPPED = failed("cancelled", "another iteration failed and the loop stops at the first failure")


def begin(program: Program, state: StateView, run: RunView, stored: Stored) -> list[Fact]:
    """A step run that no worker begins: a loop, or a step with nothing to run."""
    if not program.steps[run.step].levels:
        return [StepDone(run.id, NOTHING, by_server=True)]
    return _start_loop(program, state, run, (), None, stored)


def tend(program: Program, state: StateView, run: RunView, path: Path, stored: Stored) -> list[Fact] | None:
    """A loop changed: it may be over. None where the server is behind with it: `catch_up` goes on there."""
    loop = loop_under(run, path)
    if loop is None:
        return []
    stops = is_stopping(run, loop)
    if not loop.live and (stops or _is_complete(loop)):
        return _end_loop(program, state, run, loop, stored)
    return None if _is_behind(program, run, loop, stops=stops) else []


def is_behind(program: Program, run: RunView, path: Path) -> bool:
    """Whether the server itself could go on with a loop: it has room for another loop inside, or stops."""
    loop = loop_under(run, path)
    return loop is not None and _is_behind(program, run, loop, stops=is_stopping(run, loop))


def behind(program: Program, state: StateView) -> Iterator[tuple[str, Path]]:
    """The loops that a transaction left before the server was done with them, by step run and path."""
    for run in state.runs.values():
        for path in _paths(program, run, run.loop):
            if is_behind(program, run, path):
                yield run.id, path


def catch_up(program: Program, state: StateView, run: RunView, path: Path, stored: Stored) -> list[Fact]:
    """Another iteration with a loop inside is opened; or, where the loop stops, some that wait are ended."""
    loop = loop_under(run, path)
    assert loop is not None
    if is_stopping(run, loop):
        return list(islice(_end_waiting(run, loop), ENDED_AT_ONCE_MAX))
    return _open_iteration(program, state, run, loop, stored)


def is_stopping(run: RunView, loop: LoopView) -> bool:
    """A failure stops its own loop, those around it and those inside them."""
    if loop.failure is not None or not loop.path:
        return loop.failure is not None
    around = (loop_under(run, loop.path[:depth]) for depth in range(len(loop.path)))
    return any(outer is not None and outer.failure is not None for outer in around)


def loop_under(run: RunView, path: Path) -> LoopView | None:
    """The loop whose iterations are numbered under `path`, or None where it is gone."""
    loop = run.loop
    for index in path:
        iteration = loop.live.get(index) if loop is not None else None
        loop = iteration.loop if iteration is not None else None
    return loop


def scratch_at(run: RunView, path: Path, program: Program, stored: Stored) -> dict[str, object]:
    """What `iter` is at the start of the iteration at `path`, with those around it as `parent`."""
    scope: dict[str, object] | None = None
    loop = run.loop
    levels = program.steps[run.step].levels
    for depth, index in enumerate(path):
        assert loop is not None
        item = item_of(loop.collection, index, stored)
        scope = iteration_scope(levels[depth].loop.iterator, item, index, loop.count, scope)
        iteration = loop.live.get(index)
        loop = iteration.loop if iteration is not None else None
    assert scope is not None
    return scope


def ctx_at(state: StateView, run: RunView, path: Path) -> Values:
    """ctx as the iteration at `path` starts with it: with what went before it in sequential loops around it."""
    ctx = state.ctx
    for depth in range(1, len(path)):
        loop = loop_under(run, path[:depth])
        if loop is not None and loop.overlay:
            ctx = patched(ctx, loop.overlay)
    return ctx


def item_of(collection: object, index: int, stored: Stored) -> object:
    if isinstance(collection, External | Reference):
        return stored.element(collection, index)
    assert isinstance(collection, list)
    return collection[index]


def _start_loop(
    program: Program,
    state: StateView,
    run: RunView,
    path: Path,
    scratch: Mapping[str, object] | None,
    stored: Stored,
) -> list[Fact]:
    level = program.steps[run.step].levels[len(path)]
    scope = looping(program, state, run, ctx_at(state, run, path), scratch)
    try:
        collection = level.items(scope)
        in_flight = _in_flight(program, level, scope)
    except BindingFailed as failure:
        return stopped(state, failure.error)
    collection = list(collection) if isinstance(collection, tuple) else collection
    try:
        count = _count(collection, stored)
    except Lost as lost:
        error = _error_of(lost.loss, state, collection)
        return [_refused(program, run, level, error.kind, error.message, retryable=error.retryable)]
    if count is None:
        message = f"`loop.in` of step `{run.step}` must give a list, and gave {word_of(collection)}"
        return [_refused(program, run, level, "loop_collection", message)]
    return [LoopStarted(run.id, path, count, collection, level.loop.mode, in_flight)]


def _error_of(loss: Loss, state: StateView, collection: object) -> TemplateError:
    reference = collection.reference if isinstance(collection, External) else collection
    assert isinstance(reference, Reference)
    step = owner_of(reference, state.outputs)
    return loss.error_of_step(step) if step is not None else loss.error(str(dict(reference.locator)))


def _refused(
    program: Program, run: RunView, level: ReadyLevel, kind: str, message: str, *, retryable: bool = False
) -> StepFailed:
    error = program.places.refusal(kind, message, f"{level.path}/in", retryable=retryable)
    return failed_step(run, Output(status=Status.ERROR, error=error))


def failed_step(run: RunView, output: Output) -> StepFailed:
    """The server ends a step run badly, whatever of it is still in flight."""
    counts = _counts(run.loop) if run.loop is not None else None
    return StepFailed(run.id, output, counts, by_server=True, children=tuple(children_of(run)))


def _count(collection: object, stored: Stored) -> int | None:
    if isinstance(collection, list):
        return len(collection)
    return stored.length(collection) if isinstance(collection, External | Reference) else None


def _in_flight(program: Program, level: ReadyLevel, scope: Scope) -> int:
    if level.loop.mode is LoopMode.SEQUENTIAL:
        return 1
    value = level.max_in_flight(scope)
    if is_in_flight(value):
        return value
    raise BindingFailed(program.places.refusal("template", unfit_in_flight(value), f"{level.path}/max_in_flight"))


def is_in_flight(value: object) -> TypeGuard[int]:
    """Whether a value can be that of `max_in_flight`."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def unfit_in_flight(value: object) -> str:
    return f"`max_in_flight` must be a whole number of at least 1, not {shown(repr(value))}"


def _open_iteration(program: Program, state: StateView, run: RunView, loop: LoopView, stored: Stored) -> list[Fact]:
    path = (*loop.path, loop.next)
    started = IterationStarted(run.id, path, by_server=True)
    begun = loop.begun.get(loop.next)
    if begun is not None:
        return [started, begun]
    scratch = scratch_at(run, path, program, stored)
    return [started, *_start_loop(program, state, run, path, scratch, stored)]


def _is_behind(program: Program, run: RunView, loop: LoopView, *, stops: bool) -> bool:
    if stops:
        return next(_end_waiting(run, loop), None) is not None
    is_leaf = loop.level + 1 == len(program.steps[run.step].levels)
    return not is_leaf and len(loop.live) < loop.max_in_flight and loop.next < loop.count


def _paths(program: Program, run: RunView, loop: LoopView | None) -> Iterator[Path]:
    """The loops that hold loops, and the outermost: that one ends what waits anywhere inside it."""
    if loop is None:
        return
    yield loop.path
    if loop.level + 2 < len(program.steps[run.step].levels):
        for iteration in loop.live.values():
            yield from _paths(program, run, iteration.loop)


def _is_complete(loop: LoopView) -> bool:
    return loop.succeeded + loop.failed == loop.count


def _end_waiting(run: RunView, loop: LoopView) -> Iterator[Fact]:
    """A stopping loop lets running iterations end and ends those that wait, at every level below it."""
    for index, iteration in loop.live.items():
        inner = iteration.loop
        if iteration.is_parked or (inner is not None and not inner.live):
            children = tuple(children_of(iteration))
            yield IterationFailed(run.id, (*loop.path, index), _STOPPED, by_server=True, children=children)
        elif inner is not None:
            yield from _end_waiting(run, inner)


def _counts(loop: LoopView) -> Loop:
    started = len(loop.live) + loop.succeeded + loop.failed
    return Loop(loop.count, loop.succeeded, loop.failed + len(loop.live), loop.count - started)


def _end_loop(program: Program, state: StateView, run: RunView, loop: LoopView, stored: Stored) -> list[Fact]:
    counts = _counts(loop)
    failure = loop.failure or (None if _is_complete(loop) else _STOPPED)
    if failure is not None:
        return _failed_loop(run, loop, failure)
    whole = loop.ended.whole
    reducers = program.steps[run.step].levels[loop.level].loop.reduce
    starts = _starts(reducers, state, run, loop, stored) if whole.conflict is None else {}
    conflict = whole.conflict or _misstart(reducers, starts)
    if conflict is not None:
        return _failed_loop(run, loop, failed("ctx_conflict", conflict))
    shared = _shared(program, run, loop)
    done = LoopDone(run.id, loop.path, _output(state, run, loop, whole, counts), counts)
    return _merged(program, run, loop, done, _reduced(reducers, loop, starts, shared, stored))


def _failed_loop(run: RunView, loop: LoopView, failure: Output) -> list[Fact]:
    if not loop.path:
        return [failed_step(run, msgspec.structs.replace(failure, loop=_counts(loop)))]
    return [IterationFailed(run.id, loop.path, failure, by_server=True)]


def _output(state: StateView, run: RunView, loop: LoopView, whole: GatheredView, counts: Loop) -> Output:
    """The iterations' data in index order; past the bound it is read back from the log, which holds it all."""
    if whole.data is not None:
        return Output(data=list(whole.data), loop=counts)
    locator: dict[str, object] = {"log": state.execution_id, "step_run_id": run.id, "path": list(loop.path)}
    reference = Reference(LOOP_REFERENCE, locator, meta=ReferenceMeta("application/json"))
    return Output(data=External(reference, holds="list"), ref=reference, loop=counts)


def _merged(program: Program, run: RunView, loop: LoopView, done: LoopDone, reduced: Values) -> list[Fact]:
    """The end of a loop with what its iterations wrote to ctx: known at once, or part of the iteration around it."""
    patch: dict[str, object] = {path: write.value for path, write in loop.ended.whole.writes.items()}
    patch |= {**reduced, **loop.overlay}
    origin = PatchOrigin(f"{program.steps[run.step].path}/loop", run.id, iteration=loop.path)
    if not loop.path:
        return [CtxPatched(patch, origin), done] if patch else [done]
    outer = loop_under(run, loop.path[:-1])
    assert outer is not None
    kept = {path: value for path, value in loop.ended.whole.reduced.items() if path not in reduced}
    ended = IterationDone(run.id, loop.path, done.output, patch, kept, loop.step, by_server=True)
    if patch and outer.mode is LoopMode.SEQUENTIAL and not outer.path:
        return [done, ended, CtxPatched(patch, origin)]
    return [done, ended]


def _shared(program: Program, run: RunView, loop: LoopView) -> frozenset[str]:
    """The keys that the loop around reduces in the same way: it goes on with what was kept, not with a value."""
    outer = loop_under(run, loop.path[:-1]) if loop.path else None
    if outer is None or outer.mode is LoopMode.SEQUENTIAL:
        return frozenset()
    levels = program.steps[run.step].levels
    own, around = levels[loop.level].loop.reduce, levels[outer.level].loop.reduce
    return frozenset(path for path, reducer in own.items() if around.get(path) is reducer)


def _reduced(reducers: Reducers, loop: LoopView, starts: Values, shared: frozenset[str], stored: Stored) -> Values:
    """What the reducers come to, from the values that ctx had when the loop began."""
    return {
        path: reduce_onto(reducers[path], starts.get(path), own_copy(kept), partial(hydrate, fetch=stored.fetch))
        for path, kept in loop.ended.whole.reduced.items()
        if path not in shared
    }


def _starts(reducers: Reducers, state: StateView, run: RunView, loop: LoopView, stored: Stored) -> Values:
    """The values from which the reducers go on, with what of them is stored outside the log."""
    ctx = ctx_at(state, run, loop.path)
    return {path: _read(ctx, path, stored) for path in loop.ended.whole.reduced if reducers[path] is not Reducer.LAST}


def _misstart(reducers: Reducers, starts: Values) -> str | None:
    """Why a reducer cannot go on from what ctx holds."""
    for path, start in starts.items():
        if not can_start(reducers[path], start):
            return f"`ctx.{path}` held {word_of(start)} before the loop, where {needs(reducers[path])}"
    return None


def _read(ctx: Values, path: str, stored: Stored) -> object:
    found: object = ctx
    for key in path.split("."):
        inside = found.get(key) if isinstance(found, Mapping) else None
        found = hydrate(inside, stored.fetch) if isinstance(inside, External) else inside
    return found
