"""Where a rerun came from: the execution that it goes on from, and the one in which a step that it kept had run."""

from __future__ import annotations

import re

import msgspec

from noetl.cli.live.words import short_id
from noetl.control_plane.loading import Loader, Unreadable
from noetl.engine.codec import decode
from noetl.engine.envelope import Event
from noetl.engine.events import ExecutionRequested
from noetl.engine.output import Error
from noetl.ports import EventLog

GENERATIONS_MAX = 100
"""Reruns of reruns that are looked through."""

UNNAMED = re.compile(r"noetl rerun … --from ([^\s`]+)")
"""A command in a message that was recorded where nobody knows which run it is about."""


async def origin_of(log: EventLog, execution_id: str) -> str | None:
    """As its first event tells it."""
    for data in await log.read(execution_id, 0, 1):
        event = decode(data)
        if isinstance(event, Event) and isinstance(event.fact, ExecutionRequested) and event.fact.origin is not None:
            return event.fact.origin.execution_id
    return None


async def where_it_ran(loader: Loader, execution_id: str, step: str) -> str | None:
    """The execution, or the nearest one before it, in which a step ran and was not only kept."""
    name: str | None = execution_id
    for _ in range(GENERATIONS_MAX):
        if name is None:
            break
        try:
            state = (await loader.load(name)).state
        except Unreadable:
            break
        if step in state.steps and state.steps[step].runs:
            return name
        name = state.origin.execution_id if state.origin is not None else None
    return None


async def with_names(loader: Loader, execution_id: str, error: Error | None) -> Error | None:
    """An error whose remedy is to run a step again, with the run from which that can be done."""
    found = UNNAMED.search(error.message) if error is not None else None
    place = await where_it_ran(loader, execution_id, found[1]) if found is not None else None
    if error is None or found is None or place is None:
        return error
    command = f"noetl rerun {short_name(place)} --from {found[1]}"
    return msgspec.structs.replace(error, message=error.message.replace(found[0], command))


def short_name(execution_id: str) -> str:
    """One that another started is named after it, and cannot be cut."""
    return execution_id if "." in execution_id else short_id(execution_id)
