"""The log of an execution, as it is stored or told in short."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

from noetl.cli.console import OK, Console
from noetl.cli.executing import Followed
from noetl.cli.inspecting.opening import found
from noetl.cli.inspecting.reader import while_read
from noetl.cli.live.words import cut, moment
from noetl.cli.reading import raw_events, time_of
from noetl.control_plane.feed import Feed
from noetl.control_plane.limits import Limits
from noetl.control_plane.signals import Signals
from noetl.engine import events as e
from noetl.engine.codec import UnknownEvent, decode
from noetl.engine.envelope import Event
from noetl.engine.output import Error

MESSAGE_WIDTH_MAX = 200
FOLLOW_S = 0.3
"""Between two looks at a log that another process writes."""


async def show_events(wanted: Followed, console: Console, folder: Path, environment: dict[str, str]) -> int:
    async with found(wanted.id, folder, environment, console) as (local, summary):
        if not wanted.follow:
            await _print(raw_events(local.store, summary.execution_id), console, wanted.output)
            return OK
        feed = Feed(local.store, Signals(), Limits(poll_s=FOLLOW_S))
        await while_read(console, _print(feed.events(summary.execution_id), console, wanted.output))
    return OK


async def _print(log: AsyncIterator[bytes], console: Console, output: str) -> None:
    async for data in log:
        console.data(f"{data.decode()}\n" if output == "jsonl" else f"{short(data)}\n")
        console.flush()


def short(data: bytes) -> str:
    """When, what, of what, and where it is a failure that word and the reason."""
    event = decode(data)
    at = moment(time_of(data))
    if isinstance(event, UnknownEvent):
        return f"{event.seq:>6}  {at}  {event.name}  ({event.reason})"
    if not isinstance(event, Event):
        sealed = event.sealed
        why = "  failed" if sealed.status == "error" else ""
        return f"{sealed.seq:>6}  {at}  {sealed.name:<24} {sealed.entity_id}  {sealed.status}{why}"
    return f"{event.seq:>6}  {at}  {event.name:<24} {event.entity_id}  {event.status}{_why(event)}"


def _why(event: Event) -> str:
    if event.status != "error":
        return ""
    fact = event.fact
    if isinstance(fact, e.ExecutionCancelled):
        return f"  cancelled: {cut(fact.reason or 'no reason was given', MESSAGE_WIDTH_MAX)}"
    status = fact.status if isinstance(fact, e.WorkflowFinished | e.PlaybookProcessed) else "failed"
    error = _error(fact)
    return f"  {status}: {cut(error.message, MESSAGE_WIDTH_MAX)}" if error is not None else f"  {status}"


def _error(fact: e.Fact) -> Error | None:
    if isinstance(fact, e.RequestEvaluated | e.NextEvaluated | e.WorkflowFinished):
        return fact.error
    if isinstance(fact, e.TaskDone | e.StepFailed | e.IterationFailed):
        return fact.output.error
    return None
