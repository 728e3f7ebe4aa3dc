"""A few lines at the foot of a terminal that are drawn over, while others may be said above them."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import TextIO

from noetl.cli.live.words import columns

COLUMNS_DEFAULT, LINES_DEFAULT = 80, 24
"""For a terminal that does not know its own size."""

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_UP = "\x1b[{}A"
_CLEAR_BELOW = "\x1b[J"
_CLEAR_LINE_END = "\x1b[K"
_WRAP_OFF, _WRAP_ON = "\x1b[?7l", "\x1b[?7h"
"""A line that is wider than was thought must not become two: the next picture would stand one lower."""


class Screen:
    def __init__(self, terminal: TextIO) -> None:
        self._terminal = terminal
        self._drawn: list[int] = []

    @property
    def size(self) -> tuple[int, int]:
        """Columns and lines, as they are now."""
        size = os.get_terminal_size(self._terminal.fileno())
        return size.columns or COLUMNS_DEFAULT, size.lines or LINES_DEFAULT

    def draw(self, lines: Sequence[str]) -> None:
        """Over what stands there, in one write so that nothing flickers."""
        body = "".join(f"{line}{_CLEAR_LINE_END}\n" for line in lines)
        self._write(f"{self._top()}{_WRAP_OFF}{body}{_WRAP_ON}{_CLEAR_BELOW}")
        self._drawn = [columns(_COLOUR.sub("", line)) for line in lines]

    def say(self, text: str) -> None:
        """Above the lines, where it stays; they are to be drawn anew."""
        self._write(f"{self._top()}{_CLEAR_BELOW}{text}\n")
        self._drawn = []

    def _top(self) -> str:
        """To the first line. A terminal that has become narrower shows the wider lines as several."""
        width, _ = self.size
        up = sum(max(1, -(-each // width)) for each in self._drawn)
        return f"{_UP.format(up)}\r" if up else "\r"

    def _write(self, text: str) -> None:
        self._terminal.write(text)
        self._terminal.flush()
