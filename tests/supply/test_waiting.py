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


@played
async def test_a_cancel_that_comes_with_the_event_is_not_missed(rig: Rig) -> None:
    for turns in range(6):
        event = asyncio.Event()
        task = asyncio.create_task(wait_for(event, 5.0))
        await asyncio.sleep(1.0)
        event.set()
        for _ in range(turns):
            await asyncio.sleep(0)
        if not task.done():
            task.cancel()
            await asyncio.wait([task])
            assert task.cancelled()
    assert rig.loop.time() == 6.0
