"""Signals: Ctrl-C once cancels the run, twice stops at once; SIGTERM and SIGHUP stop, for the machine may go down.

A run that was stopped can be resumed, one that was cancelled cannot.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from types import FrameType, TracebackType

from noetl.cli.console import INTERRUPTED
from noetl.cli.running.leaving import Leaving, Teller, end_in_time
from noetl.ports import Unavailable

CHOICE_S = 0.7
"""Between the first Ctrl-C and the cancel: what is cancelled cannot be resumed, so there is time for the second."""

CANCEL_S = 5.0
"""How long a cancel is tried that cannot be recorded."""

REST_S = 0.2
"""Between two tries."""

CODES = {signal.SIGINT: INTERRUPTED, signal.SIGTERM: 128 + signal.SIGTERM, signal.SIGHUP: 128 + signal.SIGHUP}


class Interrupts:
    def __init__(self, cancel: Callable[[], Awaitable[object]], leaving: Leaving, teller: Teller) -> None:
        self._cancel = cancel
        self._leaving = leaving
        self._teller = teller
        self._loop = asyncio.get_running_loop()
        self._before: dict[signal.Signals, object] = {}
        self._is_interrupted = False
        self._is_leaving = False
        self._cancelling: asyncio.Task[None] | None = None
        self._is_asked = False
        self._is_cancelled = False

    def __enter__(self) -> None:
        """A signal that is ignored stays so: `nohup` and shells that start something in the background want that."""
        for number in CODES:
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._heard)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)  # type: ignore[arg-type]
        if self._cancelling is not None and not self._is_asked:
            self._cancelling.cancel()

    def _heard(self, given: int, _frame: FrameType | None) -> None:
        """Comes in the middle of anything, so that it is heard though the event loop stands still."""
        number = signal.Signals(given)
        if self._is_leaving:
            os._exit(CODES[number])
        if number is signal.SIGINT and not self._is_interrupted:
            self._is_interrupted = True
            self._loop.call_soon_threadsafe(self._begin)
            return
        self._is_leaving = True
        end_in_time(CODES[number])
        self._loop.call_soon_threadsafe(self._leave, number)

    def _begin(self) -> None:
        """Nothing more begins from here on, whichever of the two it will be."""
        if self._leaving.hold is not None:
            self._leaving.hold()
        self._teller.say("cancelling; Ctrl-C again stops at once, and the run can be resumed")
        self._cancelling = asyncio.ensure_future(self._cancel_soon())

    async def _cancel_soon(self) -> None:
        await asyncio.sleep(CHOICE_S)
        if self._is_leaving:
            return
        self._is_asked = True
        try:
            async with asyncio.timeout(CANCEL_S):
                await self._record()
        except TimeoutError:
            text = f"stopped; the cancel could not be recorded within {CANCEL_S:g} s; {self._leaving.resume}"
            self._leaving.leave(text, INTERRUPTED)

    async def _record(self) -> None:
        while not self._is_cancelled:
            try:
                await self._cancel()
                self._is_cancelled = True
            except Unavailable:
                await asyncio.sleep(REST_S)

    def _leave(self, number: signal.Signals) -> None:
        by = "stopped" if number is signal.SIGINT else f"stopped by {number.name}"
        self._leaving.leave(f"{by}; {self._next}", CODES[number])

    @property
    def _next(self) -> str:
        name = self._leaving.execution_id
        if self._is_cancelled:
            return f"the run was cancelled before; run what is left with: noetl rerun {name}"
        if self._is_asked:
            return f"whether the cancel was recorded tells: noetl status {name}"
        return self._leaving.resume
