"""What the project's store holds of an execution: its log as it is stored, and the state that the log comes to."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import datetime
from pathlib import Path

import msgspec

from noetl.cli.console import Stopped
from noetl.cli.embedded import DATABASE_NAME, Local
from noetl.control_plane.loading import Loader
from noetl.ports import EventLog
from noetl.supply.programs import Programs, Ready
from noetl.supply.shelf import Shelf

PAGE = 1_000
SHELF_BYTES_MAX = 64 * 1024 * 1024


class _Stamped(msgspec.Struct, frozen=True):
    """When an event was recorded."""

    timestamp: datetime


_stamped = msgspec.json.Decoder(_Stamped)


def required(home: Path) -> Path:
    """The project's folder, or a word that nothing has run here."""
    if not (home / DATABASE_NAME).exists():
        raise Stopped(f"noetl: nothing has run here yet: there is no {home / DATABASE_NAME}\n  = start: noetl run FILE")
    return home


def loader_of(local: Local, log: EventLog) -> Loader:
    """States from their snapshots and what came after, as a server loads them."""
    programs = Programs(local.catalog.by_digest, Ready(local.compiler.installed.kinds_of))
    return Loader(log, programs, Shelf(local.results, SHELF_BYTES_MAX), local.system, PAGE)


async def raw_events(log: EventLog, execution_id: str, after: int = 0) -> AsyncIterator[bytes]:
    while found := await log.read(execution_id, after, PAGE):
        for data in found:
            yield data
        after += len(found)


def time_of(event: bytes) -> float:
    """When an event was recorded."""
    return _stamped.decode(event).timestamp.timestamp()


async def times_of(log: EventLog, execution_id: str, numbers: Iterable[int]) -> Mapping[int, float]:
    """When these events were recorded."""
    return {number: time_of(data) for number in numbers for data in await log.read(execution_id, number - 1, 1)}
