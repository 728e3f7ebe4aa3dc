"""What was refused, by place: an older word is told of if it, or something in what it holds, was refused."""

from bisect import bisect_left
from collections.abc import Iterable

from noetl.playbook.diagnostics import Diagnostic, Span


class Refusals:
    def __init__(self, found: Iterable[Diagnostic]) -> None:
        self._found = sorted(found, key=_code_and_place)

    def within(self, code: str, key: Span, end: Span) -> Diagnostic | None:
        """The first refusal of a rule from a key to the end of its value, which an alias may have put elsewhere."""
        at = bisect_left(self._found, (code, key), key=_code_and_place)
        found = self._found[at] if at < len(self._found) else None
        return found if found is not None and found.code == code and found.span <= max(key, end) else None


def _code_and_place(found: Diagnostic) -> tuple[str, Span]:
    return found.code, found.span
