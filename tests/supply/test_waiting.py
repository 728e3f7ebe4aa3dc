"""A wait ends with its event or with its time."""

import asyncio

from noetl.supply.waiting import wait_for
from tests.runtime import Rig, played


@played
async def test_a_wait_ends_with_its_event_or_with_its_time(rig: Rig) -> None:
    event = asyncio.Event()
    await wait_for(event, 5.0)
    assert rig.loop.time() == 5.0
    event.set()
    await wait_for(event, 5.0)
    assert rig.loop.time() == 5.0
