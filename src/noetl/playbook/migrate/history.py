"""The rounds of edits a text went through, to find a place of the newest text in the oldest."""

from bisect import bisect_right
from collections.abc import Iterable

from noetl.playbook.diagnostics import Edit, Span
from noetl.playbook.migrate.blocks import line_end, line_start, line_starts
from noetl.playbook.source.lines import Lines


class History:
    def __init__(self, text: str) -> None:
        self.text = text
        self._lines = Lines(text)
        self._oldest = self._lines
        self._rounds: list[_Round] = []

    def copy(self) -> "History":
        """The same past, from which another future may follow."""
        other = History(self._oldest.text)
        other.text, other._lines, other._rounds = self.text, self._lines, [*self._rounds]
        return other

    def advance(self, text: str, edits: Iterable[Edit]) -> None:
        """The text became another by these edits, which do not overlap."""
        ordered = sorted(set(edits), key=lambda edit: (edit.start, edit.end))
        self._rounds.append(_Round(self.text, text, ordered))
        self.text = text
        self._lines = Lines(text)

    def original(self, span: Span) -> Span:
        """Where a place of the newest text stood in the oldest."""
        start = self._back(self._lines.start(span.line) + span.column - 1)
        end = self._back(self._lines.start(span.end_line) + span.end_column - 1)
        return self._oldest.span(start, max(start, end))

    def _back(self, offset: int) -> int:
        for edits in reversed(self._rounds):
            offset = edits.before(offset)
        return offset


class _Round:
    """One round: where each edit's text stands now, and how far everything behind it has moved."""

    def __init__(self, old: str, new: str, edits: list[Edit]) -> None:
        self._old, self._new = old, new
        self._edits = edits
        self._starts: list[int] = []
        self._shifts: list[int] = []
        self._places: dict[str, int] | None = None
        shift = 0
        for edit in edits:
            self._starts.append(edit.start + shift)
            shift += len(edit.text) - (edit.end - edit.start)
            self._shifts.append(shift)

    def before(self, offset: int) -> int:
        at = bisect_right(self._starts, offset) - 1
        if at < 0:
            return offset
        edit = self._edits[at]
        if offset >= self._starts[at] + len(edit.text):
            return offset - self._shifts[at]
        return self._moved(offset, min(edit.end, edit.start + offset - self._starts[at]))

    def _moved(self, offset: int, otherwise: int) -> int:
        """A line that moved as a whole is found again by what it says, if only one said so."""
        start = line_start(self._new, offset)
        line = self._new[start : line_end(self._new, offset)]
        if self._places is None:
            self._places = _lines_once(self._old)
        found = self._places.get(line.strip())
        return found + offset - start - (len(line) - len(line.lstrip())) if found is not None else otherwise


def _lines_once(text: str) -> dict[str, int]:
    """Where each line begins, blanks aside, for those that are there only once."""
    places: dict[str, list[int]] = {}
    for start in line_starts(text, 0, len(text)):
        line = text[start : line_end(text, start)]
        places.setdefault(line.strip(), []).append(start + len(line) - len(line.lstrip()))
    return {line: found[0] for line, found in places.items() if len(found) == 1}
