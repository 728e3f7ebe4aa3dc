"""The log of an execution, as it is stored or told in short."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Protocol

from noetl.cli.console import OK, Console
from noetl.cli.embedded import opened, serving
from noetl.cli.finding import find_execution
from noetl.cli.project import home_of
from noetl.cli.reading import raw_events, required
from noetl.engine.codec import UnknownEvent, decode
from noetl.engine.envelope import Event


class Wanted(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def follow(self) -> bool: ...
    @property
    def output(self) -> str: ...


async def show_events(wanted: Wanted, console: Console, folder: Path, environment: dict[str, str]) -> int:
    home = required(home_of(folder, environment))
    async with opened(home, folder) as local:
        summary = await find_execution(local.store, wanted.id)
        if not wanted.follow:
            await _print(raw_events(local, summary.execution_id), console, wanted.output)
            return OK
        async with serving(local, environment) as runtime:
            await _print(runtime.plane.feed.events(summary.execution_id), console, wanted.output)
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
