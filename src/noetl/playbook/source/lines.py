"""Offsets to lines and columns. A line ends at LF, CR or CRLF, as in editors; a byte order mark has none.

A full table of lines could outweigh the text many times, so only the number of lines before each block is kept.
"""

import re
from bisect import bisect_left

from noetl.playbook.diagnostics import Span

BYTE_ORDER_MARK = "\ufeff"

_BLOCK_CHARS = 4096
_BREAK = re.compile(r"\r\n?|\n")


class Lines:
    """The lines of one text, counted as far as positions are asked for."""

    __slots__ = ("_breaks", "_first", "_has_returns", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._first = 1 if text.startswith(BYTE_ORDER_MARK) else 0
        self._has_returns = "\r" in text
        self._breaks = [0]

    def position(self, offset: int) -> tuple[int, int]:
        """The line and column, both from 1, of a character offset."""
        offset = min(max(offset, self._first), len(self.text))
        block = offset // _BLOCK_CHARS
        while len(self._breaks) <= block:
            self._count_block()
        line = 1 + self._breaks[block] + self._breaks_between(block * _BLOCK_CHARS, offset)
        return line, offset - self._line_start(offset) + 1

    def span(self, start: int, end: int) -> Span:
        line, column = self.position(start)
        end_line, end_column = self.position(end)
        return Span(line, column, end_line, end_column)

    def start(self, line: int) -> int:
        """The offset of the first character of a line; lines past the last begin at the end of the text."""
        if line <= 1:
            return self._first
        while self._breaks[-1] < line - 1 and len(self._breaks) * _BLOCK_CHARS <= len(self.text):
            self._count_block()
        block = bisect_left(self._breaks, line - 1) - 1
        missing = line - 1 - self._breaks[block]
        for match in _BREAK.finditer(self.text, block * _BLOCK_CHARS):
            missing -= 1
            if not missing:
                return match.end()
        return len(self.text)

    def line_text(self, line: int) -> str:
        """What stands on a line, without its line break."""
        return self.text[self.start(line) : self.start(line + 1)].rstrip("\r\n")

    def _count_block(self) -> None:
        start = (len(self._breaks) - 1) * _BLOCK_CHARS
        self._breaks.append(self._breaks[-1] + self._breaks_between(start, start + _BLOCK_CHARS))

    def _breaks_between(self, start: int, end: int) -> int:
        """The line breaks that end in (start, end]; a CR counts unless the LF of its pair follows."""
        text = self.text
        feeds = text.count("\n", start, end)
        if not self._has_returns:
            return feeds
        return feeds + text.count("\r", start, end) - text.count("\r\n", start, end + 1)

    def _line_start(self, offset: int) -> int:
        text = self.text
        if not self._has_returns:
            return max(text.rfind("\n", 0, offset) + 1, self._first)
        end = offset - 1 if offset and text.startswith("\r\n", offset - 1) else offset
        feed = text.rfind("\n", 0, end) + 1
        return max(feed, text.rfind("\r", feed, end) + 1, self._first)
