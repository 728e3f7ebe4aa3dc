"""The nearest of many names, within a bound on the work that a file full of mistakes can cause."""

from collections.abc import Sequence

from noetl.errors import closest
from noetl.playbook.diagnostics import Edit
from noetl.playbook.source.nodes import Scalar, Style

COMPARISONS_MAX = 20_000
NAMES_SHOWN_MAX = 12


class Spelling:
    """Suggests names until the comparisons are used up; after that it stays silent.

    `shown` are the names for a hint, the first of them if there are many.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(dict.fromkeys(names))
        more = ", …" if len(self.names) > NAMES_SHOWN_MAX else ""
        self.shown = ", ".join(self.names[:NAMES_SHOWN_MAX]) + more
        self._left = COMPARISONS_MAX

    def nearest(self, word: str) -> str | None:
        self._left -= len(self.names)
        return closest(word, self.names) if self._left >= 0 else None


def respell(node: Scalar, word: str) -> list[Edit]:
    """The edit that puts a word in a scalar's place; none where the scalar is a block of lines."""
    is_block = node.style is Style.LITERAL or node.style is Style.FOLDED
    return [] if is_block else [Edit(node.start, node.end, word)]
