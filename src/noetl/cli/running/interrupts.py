"""Ctrl-C: once cancels the run cleanly, twice stops at once, and the run can be resumed."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Protocol

from noetl.cli.console import INTERRUPTED

CHOICE_S = 0.7
"""Between the first Ctrl-C and the cancel: what is cancelled cannot be resumed, so there is time for the second."""


class Teller(Protocol):
    def say(self, text: str) -> None: ...

    def leave(self, text: str) -> None:
        """The last word before the process ends."""


class Interrupts:
    def __init__(self, cancel: Callable[[], Awaitable[object]], execution_id: str, teller: Teller) -> None:
        self._cancel = cancel
        self._execution_id = execution_id
        self._teller = teller
        self._cancelling: asyncio.Task[None] | None = None
        self._is_cancelled = False

    def __enter__(self) -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._interrupted, CHOICE_S)
        loop.add_signal_handler(signal.SIGTERM, self._interrupted, 0.0)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
        if self._cancelling is not None and not self._is_cancelled:
            self._cancelling.cancel()

    def _interrupted(self, choice_s: float) -> None:
        if self._cancelling is None:
            self._teller.say("cancelling; Ctrl-C again stops at once, and the run can be resumed")
            self._cancelling = asyncio.ensure_future(self._cancel_after(choice_s))
        else:
            self._stop()

    async def _cancel_after(self, choice_s: float) -> None:
        await asyncio.sleep(choice_s)
        self._is_cancelled = True
        await self._cancel()

    def _stop(self) -> None:
        """Nothing is waited for. Tools end with this process, and what was recorded is safe."""
        if self._is_cancelled:
            self._teller.leave(f"stopped; the run was cancelled before, and what is left runs with: {self._again}")
        else:
            self._teller.leave(f"stopped; go on with: noetl run --resume {self._execution_id}")
        os._exit(INTERRUPTED)

    @property
    def _again(self) -> str:
        return f"noetl rerun {self._execution_id}"
