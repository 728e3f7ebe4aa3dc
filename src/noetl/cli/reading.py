"""The log of an execution, read from the project's store."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import TypeVar

from noetl.cli.console import Stopped
from noetl.cli.embedded import DATABASE_NAME, Local
from noetl.engine.codec import StoredEvent, decode, unseal
from noetl.engine.envelope import Event
from noetl.supply.shelf import Shelf

PAGE = 1_000
SHELF_BYTES_MAX = 64 * 1024 * 1024

T = TypeVar("T")


def required(home: Path) -> Path:
    """The project's folder, or a word that nothing has run here."""
    if not (home / DATABASE_NAME).exists():
        raise Stopped(f"noetl: nothing has run here yet: there is no {home / DATABASE_NAME}\n  = start: noetl run FILE")
    return home


async def raw_events(local: Local, execution_id: str, after: int = 0) -> AsyncIterator[bytes]:
    while found := await local.store.read(execution_id, after, PAGE):
        for data in found:
            yield data
        after += len(found)


async def events(local: Local, execution_id: str) -> AsyncIterator[Event]:
    """Those that this version can read."""
    shelf = Shelf(local.results, SHELF_BYTES_MAX)
    async for data in raw_events(local, execution_id):
        event = decode(data)
        if isinstance(event, StoredEvent):
            await shelf.bring(event.reference)
            event = unseal(event, shelf.fetch(event.reference))
        if isinstance(event, Event):
            yield event
