"""An execution as it goes: the live picture on a terminal, lines elsewhere."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence

from noetl.cli.console import Console
from noetl.cli.live.plain import PlainLines
from noetl.cli.live.progress import Progress
from noetl.cli.live.terminal import picture
from noetl.control_plane.feed import Feed
from noetl.engine.codec import decode
from noetl.engine.envelope import Event
from noetl.ports import Clock

FRAME_S = 0.1
COLUMNS_DEFAULT, LINES_DEFAULT = 80, 24
"""For a terminal that does not know its own size."""


class Follower:
    def __init__(self, title: str, execution_id: str, steps: Sequence[str], console: Console, *, quiet: bool) -> None:
        self._progress = Progress(title, execution_id, steps)
        self._console = console
        self._is_quiet = quiet
        self._is_live = not quiet and console.err.isatty()
        self._lines = PlainLines()
        self._drawn = 0

    async def follow(self, feed: Feed, clock: Clock) -> Progress:
        """Until the execution has ended."""
        drawing = asyncio.ensure_future(self._draw(clock)) if self._is_live else None
        if not self._is_live and not self._is_quiet:
            self._console.say(f"▶ {self._progress.title}  {self._progress.execution_id[:8]}")
        try:
            async for data in feed.events(self._progress.execution_id):
                self._see(data)
        finally:
            if drawing is not None:
                drawing.cancel()
                self._redraw(clock.now(), 0)
        return self._progress

    def _see(self, data: bytes) -> None:
        event = decode(data)
        if not isinstance(event, Event):
            return
        self._progress.see(event)
        if not self._is_live and not self._is_quiet:
            line = self._lines.of(event)
            if line is not None:
                self._console.say(f"  {line}")

    async def _draw(self, clock: Clock) -> None:
        frame = 0
        while True:
            self._redraw(clock.now(), frame)
            frame += 1
            await asyncio.sleep(FRAME_S)

    def _redraw(self, now: float, frame: int) -> None:
        """Over the picture that stands there, in one write so that nothing flickers."""
        size = os.get_terminal_size(self._console.err.fileno())
        room = (size.columns or COLUMNS_DEFAULT, size.lines or LINES_DEFAULT)
        lines = picture(self._progress, now, frame, room, self._console.paint_talk())
        up = f"\x1b[{self._drawn}A\r" if self._drawn else ""
        body = "".join(f"{line}\x1b[K\n" for line in lines)
        self._console.err.write(f"{up}{body}\x1b[J")
        self._console.err.flush()
        self._drawn = len(lines)
