"""What failed in an execution, and why: from the few events that its state names, however long the log is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

import msgspec

from noetl.cli.live.words import cut, item_label
from noetl.engine import events as e
from noetl.engine.codec import decode
from noetl.engine.envelope import Event
from noetl.engine.output import Error, Output
from noetl.engine.state import State, Tally
from noetl.ports import EventLog

STEPS_MAX = 10
"""Steps whose failures are read; the others are known by their counts and messages."""

TRACE_LINES_MAX = 20
MESSAGE_WIDTH_MAX = 400
ITEM_WIDTH_MAX = 24
UNKNOWN = Error("", "its event cannot be read here; see: noetl events -o jsonl")


class Failure(msgspec.Struct, frozen=True):
    """A step run, or an iteration of it, which has a `path`. `item` is that of the iteration in short."""

    path: e.Path
    item: str
    kind: str
    message: str
    traceback: str


class Failed(msgspec.Struct, frozen=True):
    """What failed of a step: itself, or its first iterations that did, in order, of `count` among `total`."""

    step: str
    count: int
    total: int | None
    failures: Sequence[Failure]


async def failures_of(log: EventLog, state: State) -> list[Failed]:
    troubled = ((name, tally) for name, tally in state.steps.items() if tally.failures or tally.error is not None)
    return [await _of_step(log, state, name, tally) for name, tally in islice(troubled, STEPS_MAX)]


async def _of_step(log: EventLog, state: State, name: str, tally: Tally) -> Failed:
    if not tally.failures:
        return Failed(name, 1, None, [_failure(await _fact(log, state, tally.ended), None)])
    run = state.runs.get(tally.last)
    loop = run.loop if run is not None else None
    count, total = (loop.failed, loop.count) if loop is not None else (tally.failed, tally.total)
    begun = await _fact(log, state, tally.looped)
    collection = begun.collection if isinstance(begun, e.LoopStarted) else None
    found = [_failure(await _fact(log, state, number), collection) for number in tally.failures]
    return Failed(name, count, total, sorted(_inmost(found), key=lambda each: each.path))


async def _fact(log: EventLog, state: State, number: int) -> e.Fact | None:
    """None where it is stored elsewhere, or is of a newer version."""
    (data,) = await log.read(state.execution_id, number - 1, 1)
    event = decode(data)
    return event.fact if isinstance(event, Event) else None


def _failure(fact: e.Fact | None, collection: object) -> Failure:
    output = fact.output if isinstance(fact, e.StepFailed | e.IterationFailed) else Output()
    path = fact.path if isinstance(fact, e.IterationFailed) else ()
    item = item_label(collection, path[0]) if path else ""
    error = output.error or UNKNOWN
    message = cut(error.message, MESSAGE_WIDTH_MAX)
    return Failure(path, cut(item, ITEM_WIDTH_MAX), error.kind, message, _traceback(output))


def _traceback(output: Output) -> str:
    """Its end, which says most."""
    block = output.blocks.get("py")
    found = block.get("traceback") if isinstance(block, Mapping) else None
    lines = str(found).splitlines() if found else []
    left_out = ["…"] if len(lines) > TRACE_LINES_MAX else []
    return "\n".join([*left_out, *lines[-TRACE_LINES_MAX:]])


def _inmost(found: Sequence[Failure]) -> Iterator[Failure]:
    """Without iterations that failed for what is inside them, which is told already."""
    inside = {(each.path[:depth], each.message) for each in found for depth in range(1, len(each.path))}
    return (each for each in found if (each.path, each.message) not in inside)


def told(failed: Iterable[Failed], execution_id: str) -> Iterator[str]:
    """For people. Of each step one traceback: the others are likely to say the same."""
    for step in failed:
        if any(each.path for each in step.failures):
            yield from _told_iterations(step, execution_id)
        trace = next((each.traceback for each in step.failures if each.traceback), "")
        if trace:
            yield f"  traceback of {step.step}:"
            yield from (f"    {cut(line, MESSAGE_WIDTH_MAX)}" for line in trace.splitlines())


def _told_iterations(step: Failed, execution_id: str) -> Iterator[str]:
    counted = f"{step.count} of {step.total} iterations failed" if step.count else "iterations of a loop inside failed"
    yield f"  {step.step}: {counted}"
    for each in step.failures:
        label = f"[{','.join(map(str, each.path))}]"
        yield f"    {label}{f' {each.item}' if each.item else ''}: {each.kind}: {each.message}"
    if step.count > len(step.failures):
        yield f"    … {step.count - len(step.failures)} more; see: noetl events {execution_id} | grep iteration.failed"
