"""Leaving a run that has not ended: last words, its work given back, and the end of this process in bounded time."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable
from typing import Protocol

LEAVE_S = 1.0
"""For stopping the tools and giving the work back. Without it the end of this process does both, a little later."""

MARGIN_S = 1.0
"""Before the process ends though the event loop stands still."""


class Teller(Protocol):
    def say(self, text: str) -> None: ...

    def leave(self, text: str) -> None:
        """The last word before the process ends."""


class Leaving:
    """`hold` lets nothing more begin. `hand_back` stops what runs and gives back what is held."""

    def __init__(self, execution_id: str, teller: Teller) -> None:
        self.execution_id = execution_id
        self.hold: Callable[[], None] | None = None
        self.hand_back: Callable[[], Awaitable[object]] | None = None
        self._teller = teller
        self._going: asyncio.Task[None] | None = None

    @property
    def resume(self) -> str:
        return f"go on with: noetl run --resume {self.execution_id}"

    def leave(self, text: str, code: int) -> None:
        """From now on nothing else is done or said."""
        if self._going is None:
            end_in_time(code)
            self._teller.leave(text)
            self._going = asyncio.ensure_future(self._leave(code))

    async def over(self) -> None:
        """Goes on only where the run was not left."""
        if self._going is not None:
            await asyncio.wait([self._going])

    async def _leave(self, code: int) -> None:
        """Nothing that goes wrong here keeps the process alive; what was recorded is safe."""
        try:
            async with asyncio.timeout(LEAVE_S):
                if self.hand_back is not None:
                    await self.hand_back()
        finally:
            os._exit(code)


def end_in_time(code: int) -> None:
    """Ends the process even where its event loop is held up, by a terminal that takes no more text for example."""
    timer = threading.Timer(LEAVE_S + MARGIN_S, os._exit, (code,))
    timer.daemon = True
    timer.start()
