"""An execution as it goes: the live picture on a terminal, lines elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from noetl.cli.console import Console
from noetl.cli.live.plain import PlainLines
from noetl.cli.live.progress import Progress
from noetl.cli.live.screen import Screen
from noetl.cli.live.terminal import View, picture
from noetl.cli.live.words import short_id
from noetl.control_plane.feed import Feed
from noetl.engine.codec import decode
from noetl.engine.envelope import Event
from noetl.ports import Clock

FRAME_S = 0.1


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

    async def follow(self, feed: Feed) -> Progress:
        """Until the execution has ended."""
        drawing = asyncio.ensure_future(self._draw(self._screen)) if self._screen is not None else None
        if self._screen is None and not self._is_quiet:
            self._console.say(f"▶ {self._progress.title}  {short_id(self._progress.execution_id)}")
        try:
            async for data in feed.events(self._progress.execution_id):
                self._see(data)
        finally:
            if drawing is not None:
                drawing.cancel()
        self._draw_last()
        return self._progress

    def say(self, text: str) -> None:
        """To the person, without harm to the picture."""
        if self._screen is None:
            self._console.say(text)
        else:
            self._screen.say(text)

    def leave(self, text: str) -> None:
        """The last word, below the picture as it is now."""
        self._draw_last()
        self._console.say(text)
        self._console.flush()

    def _draw_last(self) -> None:
        """The picture that stays has all its lines."""
        if self._screen is not None:
            self._screen.draw(self._picture(self._screen.size[0]))

    def _see(self, data: bytes) -> None:
        event = decode(data)
        if not isinstance(event, Event):
            return
        self._progress.see(event)
        if self._screen is None and not self._is_quiet:
            line = self._lines.of(event)
            if line is not None:
                self._console.say(f"  {line}")

    async def _draw(self, screen: Screen) -> None:
        frame = 0
        while True:
            screen.draw(self._picture(*screen.size, frame))
            frame += 1
            await asyncio.sleep(FRAME_S)

    def _picture(self, width: int, height: int | None = None, frame: int = 0) -> list[str]:
        view = View(self._clock.now(), width, self._console.paint_talk(), frame, height)
        return picture(self._progress, view)
