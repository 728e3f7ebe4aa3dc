"""Whether what an execution had reached can go on under another text of its playbook, and what keeps its values."""

from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec

from noetl.engine.commands import Rejection
from noetl.engine.events import LoopStarted, Token
from noetl.engine.kept import workload_taken
from noetl.engine.names import step_of
from noetl.engine.program import Program, ReadyStep
from noetl.engine.state import State
from noetl.errors import closest
from noetl.playbook.model import LoopMode


class Unmoved(msgspec.Struct, frozen=True):
    """A loop that goes on with its items and its input, though `keys` that these read have other values now."""

    step: str
    count: int
    keys: tuple[str, ...]


def refusal_of(program: Program, text: Program, state: State, tokens: Sequence[Token]) -> Rejection | None:
    """Why the rest cannot run the new text: the first thing that is not there any more, or is another."""
    found = next(_differences(program, text, state, tokens), None)
    return Rejection("changed", found) if found is not None else None


def as_written(started: LoopStarted, before: ReadyStep, after: ReadyStep) -> LoopStarted:
    """The loop with as many iterations at once as the new text says, where it says another number."""
    level = len(started.path)
    room, wanted = before.levels[level].loop.max_in_flight, after.levels[level].loop.max_in_flight
    if started.kept is not None and started.kept.begun:
        begun = tuple(as_written(inside, before, after) for inside in started.kept.begun)
        started = msgspec.structs.replace(started, kept=msgspec.structs.replace(started.kept, begun=begun))
    if wanted == room or not isinstance(wanted, int) or started.mode is LoopMode.SEQUENTIAL:
        return started
    return msgspec.structs.replace(started, max_in_flight=wanted)


def unmoved(program: Program, loops: Sequence[LoopStarted], overlay: Mapping[str, object]) -> list[Unmoved]:
    """The loops that go on, of which what was taken once at their start reads what is laid over the workload."""
    found = []
    for started in loops:
        step = step_of(started.step_run_id)
        read = workload_taken(program.steps[step].step)
        keys = tuple(key for key in overlay if read is None or key in read)
        if keys:
            found.append(Unmoved(step, started.count, keys))
    return found


def _differences(program: Program, text: Program, state: State, tokens: Sequence[Token]) -> Iterator[str]:
    old, new = program.playbook, text.playbook
    if new.metadata.path != old.metadata.path:
        yield f"it is playbook `{new.metadata.path}`, and the run was of `{old.metadata.path}`"
    if new.dialect is not old.dialect:
        yield f"it is written in the words of {new.dialect}, and the run was of {old.dialect}"
    yield from _gone("is to run", [token.step for token in tokens], text)
    yield from _gone("has run and its output is kept", list(state.outputs), text)
    for run in state.runs.values():
        yield from (
            f"step `{run.step}` is in the middle of its loop, and {what}; run it anew with --from {run.step}"
            for what in _loop_differences(program.steps[run.step], text.steps[run.step])
        )


def _gone(why: str, steps: Collection[str], text: Program) -> Iterator[str]:
    for step in steps:
        if step not in text.steps:
            near = closest(step, text.steps)
            meant = f"; is it `{near}` now? Let it keep its name" if near is not None else ""
            yield f"step `{step}` {why}, and is not there any more{meant}"


def _loop_differences(before: ReadyStep, after: ReadyStep) -> Iterator[str]:
    """What was taken at the start of the loop, or is part of what its iterations have given."""
    if len(before.levels) != len(after.levels):
        yield f"its loops are {len(after.levels)} deep where they were {len(before.levels)} deep"
    if before.step.input != after.step.input:
        yield "its `input` is another"
    for old, new in zip(before.levels, after.levels, strict=False):
        for word, one, other in (
            ("in", old.loop.in_, new.loop.in_),
            ("iterator", old.loop.iterator, new.loop.iterator),
            ("mode", old.loop.mode, new.loop.mode),
            ("reduce", old.loop.reduce, new.loop.reduce),
        ):
            if one != other:
                yield f"`{word}` of the loop is another"
        if old.loop.max_in_flight != new.loop.max_in_flight and not isinstance(new.loop.max_in_flight, int):
            yield "`max_in_flight` of the loop is another template"
