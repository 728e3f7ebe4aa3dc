"""Waiting that ends in time."""

import asyncio


async def wait_for(event: asyncio.Event, timeout_s: float) -> None:
    """Until the event, or for so long. Python 3.11's `asyncio.wait_for` misses a cancel that comes with the event."""
    try:
        async with asyncio.timeout(timeout_s):
            await event.wait()
    except TimeoutError:
        return
