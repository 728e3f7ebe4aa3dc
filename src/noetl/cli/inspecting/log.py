"""The log of an execution, as it is stored or told in short."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

from noetl.cli.console import OK, Console
from noetl.cli.executing import Followed
from noetl.cli.inspecting.opening import found
from noetl.cli.inspecting.reader import while_read
from noetl.cli.reading import raw_events
from noetl.control_plane.feed import Feed
from noetl.control_plane.limits import Limits
from noetl.control_plane.signals import Signals
from noetl.engine.codec import UnknownEvent, decode
from noetl.engine.envelope import Event

FOLLOW_S = 0.3
"""Between two looks at a log that another process writes."""


async def show_events(wanted: Followed, console: Console, folder: Path, environment: dict[str, str]) -> int:
    async with found(wanted.id, folder, environment) as (local, summary):
        if not wanted.follow:
            await _print(raw_events(local.store, summary.execution_id), console, wanted.output)
            return OK
        feed = Feed(local.store, Signals(), Limits(poll_s=FOLLOW_S))
        await while_read(console, _print(feed.events(summary.execution_id), console, wanted.output))
    return OK


async def _print(log: AsyncIterator[bytes], console: Console, output: str) -> None:
    async for data in log:
        console.data(f"{data.decode()}\n" if output == "jsonl" else f"{_short(data)}\n")
        console.flush()


def _short(data: bytes) -> str:
    event = decode(data)
    if isinstance(event, UnknownEvent):
        return f"{event.seq:>6}  {event.name}  ({event.reason})"
    if not isinstance(event, Event):
        sealed = event.sealed
        return f"{sealed.seq:>6}  {sealed.name:<28} {sealed.entity_id}"
    return f"{event.seq:>6}  {event.name:<28} {event.entity_id:<32} {event.status}"
