"""Loops on the server: the collection is taken once, outer iterations are opened, and the end is drawn together."""

from collections.abc import Mapping

from noetl.engine.binding import BindingFailed
from noetl.engine.cursor import iteration_scope
from noetl.engine.ending import stopped
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
from noetl.engine.gathering import Gathered, reduce_onto
from noetl.engine.output import NOTHING, Error, Loop, Output, failed
from noetl.engine.program import Program, ReadyLevel
from noetl.engine.reference import External, Reference, ReferenceMeta
from noetl.engine.serverside import running
from noetl.engine.view import Collections, LoopView, RunView, StateView
from noetl.playbook.model import LoopMode, Reducer


def begin(program: Program, state: StateView, run: RunView, collections: Collections) -> list[Fact]:
    """A step run that no worker begins: a loop, or a step with nothing to run."""
    if not program.steps[run.step].levels:
        return [StepDone(run.id, NOTHING, by_server=True)]
    return _start_loop(program, state, run, (), None, collections)


def tend(program: Program, state: StateView, run: RunView, path: Path, collections: Collections) -> list[Fact]:
    """A loop changed: it may be over, or have room for another iteration with a loop inside."""
    loop = loop_under(run, path)
    if loop is None:
        return []
    if _is_over(run, loop):
        return _end_loop(program, state, run, loop)
    if _is_stopping(run, loop):
        return _end_waiting(run, loop)
    is_leaf = loop.level + 1 == len(program.steps[run.step].levels)
    if is_leaf or len(loop.live) >= loop.max_in_flight or loop.next >= loop.count:
        return []
    return _open_iteration(program, state, run, loop, collections)


def loop_under(run: RunView, path: Path) -> LoopView | None:
    """The loop whose iterations are numbered under `path`, or None where it is gone."""
    loop = run.loop
    for index in path:
        iteration = loop.live.get(index) if loop is not None else None
        loop = iteration.loop if iteration is not None else None
    return loop


def scratch_at(run: RunView, path: Path, program: Program, collections: Collections) -> dict[str, object]:
    """What `iter` is at the start of the iteration at `path`, with those around it as `parent`."""
    scope: dict[str, object] | None = None
    loop = run.loop
    levels = program.steps[run.step].levels
    for depth, index in enumerate(path):
        assert loop is not None
        item = item_of(loop.collection, index, collections)
        scope = iteration_scope(levels[depth].loop.iterator, item, index, loop.count, scope)
        iteration = loop.live.get(index)
        loop = iteration.loop if iteration is not None else None
    assert scope is not None
    return scope


def item_of(collection: object, index: int, collections: Collections) -> object:
    if isinstance(collection, External | Reference):
        return collections.element(collection, index)
    assert isinstance(collection, list)
    return collection[index]


def _start_loop(
    program: Program,
    state: StateView,
    run: RunView,
    path: Path,
    scratch: Mapping[str, object] | None,
    collections: Collections,
) -> list[Fact]:
    level = program.steps[run.step].levels[len(path)]
    scope = running(program, state, run, scratch)
    try:
        collection = level.items(scope)
        in_flight = _in_flight(level, level.max_in_flight(scope))
    except BindingFailed as failure:
        return stopped(state, failure.error)
    collection = list(collection) if isinstance(collection, tuple) else collection
    count = _count(collection, collections)
    if count is None:
        message = f"`loop.in` of step `{run.step}` must give a list, and gave {type(collection).__name__}"
        return [StepFailed(run.id, failed("loop_collection", message), by_server=True)]
    return [LoopStarted(run.id, path, count, collection, level.loop.mode, in_flight)]


def _count(collection: object, collections: Collections) -> int | None:
    if isinstance(collection, list):
        return len(collection)
    return collections.length(collection) if isinstance(collection, External | Reference) else None


def _in_flight(level: ReadyLevel, value: object) -> int:
    if level.loop.mode is LoopMode.SEQUENTIAL:
        return 1
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return value
    raise BindingFailed(Error("template", f"`max_in_flight` must be a whole number of at least 1, not {value!r}"))


def _open_iteration(
    program: Program, state: StateView, run: RunView, loop: LoopView, collections: Collections
) -> list[Fact]:
    path = (*loop.path, loop.next)
    started = IterationStarted(run.id, path, by_server=True)
    scratch = scratch_at(run, path, program, collections)
    return [started, *_start_loop(program, state, run, path, scratch, collections)]


def _is_over(run: RunView, loop: LoopView) -> bool:
    if loop.live:
        return False
    return loop.succeeded + loop.failed == loop.count or _is_stopping(run, loop)


def _is_stopping(run: RunView, loop: LoopView) -> bool:
    """A failure stops its own loop and those inside it."""
    return any(around is not None and around.failure is not None for around in _around(run, loop.path))


def _around(run: RunView, path: Path) -> list[LoopView | None]:
    return [loop_under(run, path[:depth]) for depth in range(len(path) + 1)]


def _end_waiting(run: RunView, loop: LoopView) -> list[Fact]:
    """A stopping loop lets running iterations end and ends those that wait."""
    for index, iteration in loop.live.items():
        is_idle = iteration.loop is not None and not iteration.loop.live
        if iteration.is_parked or is_idle:
            output = failed("cancelled", "another iteration failed and the loop stops at the first failure")
            return [IterationFailed(run.id, (*loop.path, index), output, by_server=True)]
    return []


def _end_loop(program: Program, state: StateView, run: RunView, loop: LoopView) -> list[Fact]:
    counts = Loop(loop.count, loop.succeeded, loop.failed, loop.count - loop.succeeded - loop.failed)
    if loop.failure is not None:
        return _failed_loop(run, loop, loop.failure, counts)
    reducers = program.steps[run.step].reducers
    whole = loop.ended.whole(reducers)
    if whole.clash is not None:
        return [StepFailed(run.id, failed("ctx_conflict", whole.clash.message), counts, by_server=True)]
    output = _output(state, run, loop, whole, counts)
    done = LoopDone(run.id, loop.path, output, counts)
    if not loop.path:
        return [*_merged(state, run, program, whole, reducers), done]
    writes = {path: write.value for path, write in whole.writes.items()}
    ended = IterationDone(run.id, loop.path, output, {**writes, **loop.overlay}, whole.reduced, by_server=True)
    return [done, ended]


def _failed_loop(run: RunView, loop: LoopView, failure: Output, counts: Loop) -> list[Fact]:
    if not loop.path:
        return [StepFailed(run.id, failure, counts, by_server=True)]
    return [IterationFailed(run.id, loop.path, failure, by_server=True)]


def _output(state: StateView, run: RunView, loop: LoopView, whole: Gathered, counts: Loop) -> Output:
    """The iterations' data in index order; past the bound a reference to the log, which holds it all."""
    if whole.data is not None:
        return Output(data=whole.data, loop=counts)
    locator: dict[str, object] = {"log": state.execution_id, "step_run_id": run.id, "path": list(loop.path)}
    reference = Reference("relational", locator, meta=ReferenceMeta("application/json"))
    return Output(ref=reference, loop=counts)


def _merged(
    state: StateView, run: RunView, program: Program, whole: Gathered, reducers: Mapping[str, Reducer]
) -> list[Fact]:
    """The iterations' writes to ctx, as one patch."""
    patch: dict[str, object] = {path: write.value for path, write in whole.writes.items()}
    for path, value in whole.reduced.items():
        patch[path] = reduce_onto(reducers[path], _read(state.ctx, path), value)
    if not patch:
        return []
    return [CtxPatched(patch, PatchOrigin(f"{program.steps[run.step].path}/loop", run.id))]


def _read(ctx: Values, path: str) -> object:
    found: object = ctx
    for key in path.split("."):
        found = found.get(key) if isinstance(found, Mapping) else None
    return found
