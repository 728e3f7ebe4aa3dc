"""Waiting that ends in time."""

import asyncio


async def wait_for(event: asyncio.Event, timeout_s: float) -> None:
    """Until the event, or for so long."""
    try:
        await asyncio.wait_for(event.wait(), timeout_s)
    except TimeoutError:
        return
