"""An execution as it goes: the live picture on a terminal, lines elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from noetl.cli.console import Console
from noetl.cli.live.plain import PlainLines
from noetl.cli.live.progress import Progress
from noetl.cli.live.screen import Screen
from noetl.cli.live.terminal import View, picture
from noetl.cli.live.words import short_id
from noetl.control_plane.feed import Feed
from noetl.engine.codec import decode
from noetl.engine.envelope import Event
from noetl.ports import Clock, Unavailable

FRAME_S = 0.1
REST_S = 0.5
"""Before a store that did not answer is asked again."""


class Follower:
    def __init__(
        self, title: str, execution_id: str, steps: Sequence[str], console: Console, clock: Clock, *, quiet: bool
    ) -> None:
        self._progress = Progress(title, execution_id, steps)
        self._console = console
        self._clock = clock
        self._is_quiet = quiet
        self._screen = Screen(console.err) if not quiet and console.is_live() else None
        self._lines = PlainLines()
        self._drawing: asyncio.Task[None] | None = None
        self._seen = 0
        self._is_left = False

    async def follow(self, feed: Feed) -> Progress:
        """Until the execution has ended."""
        if self._screen is not None:
            self._drawing = asyncio.ensure_future(self._draw(self._screen))
        elif not self._is_quiet:
            self._console.say(f"▶ {self._progress.title}  {short_id(self._progress.execution_id)}")
        try:
            while not await self._has_ended(feed):
                await asyncio.sleep(REST_S)
        finally:
            self._stop_drawing()
        self._draw_last()
        return self._progress

    async def _has_ended(self, feed: Feed) -> bool:
        """Sees all to the end, unless the store does not answer."""
        try:
            async for data in feed.events(self._progress.execution_id, self._seen):
                self._seen += 1
                self._see(data)
        except Unavailable:
            return False
        return True

    def say(self, text: str) -> None:
        """To the person, without harm to the picture."""
        if self._is_left:
            return
        if self._screen is None:
            self._console.say(text)
        else:
            with suppress(OSError):
                self._screen.say(text)

    def leave(self, text: str) -> None:
        """The last word, below the picture as it is now."""
        self._stop_drawing()
        self._draw_last()
        self._console.say(text)
        self._console.flush_talk()
        self._is_left = True

    def _stop_drawing(self) -> None:
        if self._drawing is not None:
            self._drawing.cancel()

    def _draw_last(self) -> None:
        """The picture that stays has all its lines. A terminal that is gone shows nothing."""
        if self._screen is not None and not self._is_left:
            with suppress(OSError):
                self._screen.draw(self._picture(self._screen.size[0]))

    def _see(self, data: bytes) -> None:
        event = decode(data)
        if not isinstance(event, Event):
            return
        self._progress.see(event)
        if self._screen is None and not self._is_quiet and not self._is_left:
            for line in self._lines.of(event):
                self._console.say(f"  {line}")

    async def _draw(self, screen: Screen) -> None:
        frame = 0
        with suppress(OSError):
            while True:
                screen.draw(self._picture(*screen.size, frame))
                frame += 1
                await asyncio.sleep(FRAME_S)

    def _picture(self, width: int, height: int | None = None, frame: int = 0) -> list[str]:
        view = View(self._clock.now(), width, self._console.paint_talk(), frame, height)
        return picture(self._progress, view)
