"""Loops that others depend on, and that therefore outlive a bug in them."""

import asyncio
from collections.abc import Awaitable, Callable

from noetl.supply.outcome import outcome

REST_S = 1.0
"""Before a loop that broke begins again."""


async def lasting(run: Callable[[], Awaitable[None]]) -> None:
    """Runs a loop until it is cancelled. A bug in it is told to the event loop's handler, and it begins again."""
    while True:
        bug = await outcome(run())
        if bug is not None:
            context = {"message": f"{getattr(run, '__qualname__', run)} broke and begins again", "exception": bug}
            asyncio.get_running_loop().call_exception_handler(context)
        await asyncio.sleep(REST_S)
