"""A lease together with all that its holder needs: cursors, scopes and the elements of its iterations."""

from collections.abc import Mapping, Sequence

from noetl.engine.cursor import Cursor
from noetl.engine.events import Values
from noetl.engine.loops import ctx_at, is_stopping, loop_under, scratch_at
from noetl.engine.program import Program
from noetl.engine.reference import External, Reference
from noetl.engine.state import State
from noetl.engine.view import LoopView, RunView, Stored
from noetl.playbook.model import LoopMode
from noetl.ports import Claim, Granted, Loop


def claim_of(program: Program, state: State, granted: Granted, stored: Stored) -> Claim | None:
    """What was granted, as the state has it; None where it is over by now."""
    run = state.runs.get(granted.row[0])
    if run is None or run.boundary is not None:
        return None
    loop = _loop(program, run, granted, stored) if run.loop is not None else None
    cursor = run.cursor if run.loop is None else None
    if loop is None and (cursor is None or run.is_parked):
        return None
    path = granted.row[1]
    ctx = ctx_at(state, run, (*path, granted.lease.next) if loop is not None else ())
    return Claim(
        granted,
        state.digest,
        run.step,
        run.is_started,
        _workload(program, state, run.step),
        ctx,
        run.input,
        _outputs(program, state, run.step),
        cursor,
        loop,
    )


def _workload(program: Program, state: State, step: str) -> Values:
    """No more of the workload than is read: a claim may be one of thousands.

    Where a key that is read is not there, the names of the others are, so that they can be told.
    """
    keys, workload = program.workload_read(step), state.workload
    if keys is None:
        return workload
    if keys <= workload.keys():
        return {key: workload[key] for key in workload if key in keys}
    return {key: workload[key] if key in keys else None for key in workload}


def _outputs(program: Program, state: State, step: str) -> Values:
    """Those of finished steps that are read."""
    return {name: state.outputs[name] for name in sorted(program.reads(step) & state.outputs.keys())}


def _loop(program: Program, run: RunView, granted: Granted, stored: Stored) -> Loop | None:
    path, lease = granted.row[1], granted.lease
    loop = loop_under(run, path)
    if loop is None:
        return None
    first, stop = lease.next, lease.stop
    cursors = _cursors(loop, first, stop)
    if is_stopping(run, loop) and not cursors:
        return None
    level = program.steps[run.step].levels[loop.level]
    return Loop(
        level.loop.iterator,
        loop.count,
        first,
        stop,
        _items(loop.collection, first, stop),
        cursors,
        scratch_at(run, path, program, stored) if path else None,
        loop.step,
        loop.mode is LoopMode.SEQUENTIAL,
    )


def _cursors(loop: LoopView, first: int, stop: int) -> Mapping[int, Cursor]:
    found = ((index, loop.live.get(index)) for index in range(first, stop))
    return {index: each.cursor for index, each in found if each is not None and each.cursor is not None}


def _items(collection: object, first: int, stop: int) -> Sequence[object] | External | Reference:
    if isinstance(collection, External | Reference):
        return collection
    assert isinstance(collection, list)
    return collection[first:stop]
