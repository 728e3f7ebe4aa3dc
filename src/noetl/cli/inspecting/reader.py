"""Whoever reads what is followed: a pipe such as `| head` may close long before anything more is to be told."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Coroutine

from noetl.cli.console import Console


async def while_read(console: Console, telling: Coroutine[None, None, None]) -> None:
    """Tells until all is told. Where nobody reads any more it ends at once, as a write would: `BrokenPipeError`."""
    outlet = console.out.fileno()
    if not stat.S_ISFIFO(os.fstat(outlet).st_mode):
        await telling
        return
    loop = asyncio.get_running_loop()
    gone: asyncio.Future[None] = loop.create_future()
    told = asyncio.ensure_future(telling)
    loop.add_reader(outlet, _resolve, gone)  # a pipe that can only be written to is ready to read once it is closed
    try:
        await asyncio.wait({told, gone}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        loop.remove_reader(outlet)
    if not told.done():
        told.cancel()
        raise BrokenPipeError
    told.result()


def _resolve(gone: asyncio.Future[None]) -> None:
    if not gone.done():
        gone.set_result(None)
