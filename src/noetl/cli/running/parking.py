"""Executions that cannot go on by themselves: whoever runs one is told why, and a resume lets it try again."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import TypeVar

from noetl.cli.console import Stopped
from noetl.cli.embedded import Runtime
from noetl.cli.finding import live_within
from noetl.engine.incidents import Incident
from noetl.ports import Store, Unavailable

T = TypeVar("T")

LOOK_S = 1.0
INCIDENTS_MAX = 10_000
PARKED = 1
"""The exit code: the run did not come to its end."""


async def try_again(runtime: Runtime, root: str) -> None:
    """A person says that what was wrong is mended: for an execution and those below it."""
    store = runtime.local.store
    parked = [
        each.execution_id async for each in live_within(store, root) if await store.incidents(each.execution_id, 1)
    ]
    for execution_id in parked:
        await runtime.plane.resume(execution_id)


async def unless_parked(store: Store, root: str, work: Coroutine[object, object, T]) -> T:
    """What the work comes to. `Stopped` where the execution, or one below it, cannot go on."""
    working, parking = asyncio.ensure_future(work), asyncio.ensure_future(_parked(store, root))
    try:
        await asyncio.wait((working, parking), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise Stopped(_told(parking.result(), root), PARKED)
        return working.result()
    finally:
        working.cancel()
        parking.cancel()
        await asyncio.gather(working, parking, return_exceptions=True)


async def _parked(store: Store, root: str) -> Incident:
    while True:
        await asyncio.sleep(LOOK_S)
        with suppress(Unavailable):
            for incident in await store.incidents_within(root, INCIDENTS_MAX):
                if incident.parks:
                    return incident


def _told(incident: Incident, root: str) -> str:
    return (
        f"noetl run: {incident.execution_id} cannot go on: {incident.message}\n"
        f"  = {incident.remedy}\n  = then: noetl run --resume {root}"
    )
