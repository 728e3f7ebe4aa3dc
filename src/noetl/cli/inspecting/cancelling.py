"""The end of an execution by a person's will, and of those below it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from noetl.cli.cancel import Arguments
from noetl.cli.console import OK, Console, Stopped
from noetl.cli.embedded import Local, serving
from noetl.cli.finding import PAGE, live_within
from noetl.cli.inspecting.opening import found
from noetl.cli.reports.json import printed
from noetl.engine.worklist import is_within
from noetl.ports import Store, Summary

REACH_S = 5.0
"""So long nothing may change before those below that have not heard of it are left to another process."""
LOOK_S = 0.05


async def cancel(wanted: Arguments, console: Console, folder: Path, environment: dict[str, str]) -> int:
    async with (
        found(wanted.id, folder, environment, console) as (local, summary),
        serving(local, environment) as runtime,
    ):
        runtime.plane.tend(summary.execution_id)  # a child that was about to start can be cancelled only then
        refused = await runtime.plane.cancel(summary.execution_id, wanted.reason or None)
        if refused is None:
            _tell(summary, console, as_json=wanted.output == "json")
        left = await _unreached(local, summary.execution_id)
    if refused is not None:
        raise Stopped(f"noetl cancel: {refused.message}")
    if left:
        console.say(f"{left} below it have not heard of it yet\n  = they will from the next noetl run or noetl cancel")
    return OK


def _tell(summary: Summary, console: Console, *, as_json: bool) -> None:
    if as_json:
        ended = {"execution_id": summary.execution_id, "playbook": summary.path, "status": "cancelled"}
        console.data(printed(ended))
    else:
        console.say(f"cancelled {summary.execution_id}")


async def _unreached(local: Local, root: str) -> int:
    """Waits until all below it have ended. How many have not, where nothing moves any more."""
    clock = local.system
    left, since = await _left(local.store, root), clock.monotonic()
    while left and clock.monotonic() - since < REACH_S:
        await asyncio.sleep(LOOK_S)
        now = await _left(local.store, root)
        if now < left:
            left, since = now, clock.monotonic()
    return left


async def _left(store: Store, root: str) -> int:
    """Executions that live, and those to which something that was said has not come."""
    live = {each.execution_id async for each in live_within(store, root)}
    return len(live | await _addressed(store, root))


async def _addressed(store: Store, root: str) -> set[str]:
    names: set[str] = set()
    last = 0
    while messages := await store.messages(last, PAGE):
        names.update(each.execution_id for each in messages if is_within(each.sender, root))
        last = messages[-1].id
    return names
