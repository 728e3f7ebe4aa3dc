"""Offsets to lines and columns. A line ends at LF, CR or CRLF, as in editors; a byte order mark has none."""

import re
from bisect import bisect_right

from noetl.playbook.diagnostics import Span

BYTE_ORDER_MARK = "\ufeff"


class Lines:
    """The line table of one text, computed when the first position is asked for."""

    __slots__ = ("_starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts: list[int] = []

    def position(self, offset: int) -> tuple[int, int]:
        """The line and column, both from 1, of a character offset."""
        starts = self._table()
        line = max(bisect_right(starts, offset), 1)
        return line, max(offset - starts[line - 1], 0) + 1

    def span(self, start: int, end: int) -> Span:
        line, column = self.position(start)
        end_line, end_column = self.position(end)
        return Span(line, column, end_line, end_column)

    def start(self, line: int) -> int:
        """The offset of the first character of a line; lines past the last begin at the end of the text."""
        starts = self._table()
        return starts[line - 1] if line <= len(starts) else len(self.text)

    def line_text(self, line: int) -> str:
        """What stands on a line, without its line break."""
        return self.text[self.start(line) : self.start(line + 1)].rstrip("\r\n")

    def _table(self) -> list[int]:
        if not self._starts:
            first = 1 if self.text.startswith(BYTE_ORDER_MARK) else 0
            self._starts = [first, *(match.end() for match in re.finditer(r"\r\n?|\n", self.text))]
        return self._starts
