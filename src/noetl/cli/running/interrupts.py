"""Ctrl-C: once cancels the run cleanly, twice leaves at once, and the run can be resumed."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable
from types import TracebackType


class Interrupts:
    def __init__(self, cancel: Callable[[], Awaitable[object]], say: Callable[[str], None]) -> None:
        self._cancel = cancel
        self._say = say
        self._cancelling: asyncio.Task[object] | None = None

    def __enter__(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._interrupted)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)

    def _interrupted(self) -> None:
        if self._cancelling is None:
            self._say("cancelling; Ctrl-C again leaves at once")
            self._cancelling = asyncio.ensure_future(self._cancel())
        else:
            self.__exit__(None, None, None)
            signal.raise_signal(signal.SIGINT)
