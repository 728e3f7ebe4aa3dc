"""The nearest of many names, within a bound on the work that a file full of mistakes can cause."""

from collections.abc import Sequence

from noetl.errors import closest, is_one_edit
from noetl.expressions.sites import SCOPE_WORDS
from noetl.playbook.diagnostics import Edit
from noetl.playbook.source.nodes import Scalar, Style

COMPARISONS_MAX = 20_000
NAMES_SHOWN_MAX = 12
LETTERS_SAFE_MIN = 5

_NO_DIGITS = str.maketrans("", "", "0123456789")


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


def is_safe(word: str, near: str, *, is_alone: bool = False) -> bool:
    """Whether a near word can take a word's place without asking.

    Everything else is a guess: it is worth a question, not an edit. `load1` is not `load2` misspelt. And templates
    read scopes with a member, so a name that stands alone in one is hardly a misspelt scope.
    """
    if word.lower() == near.lower():
        return True
    if (is_alone and near in SCOPE_WORDS) or are_numbered(word, near):
        return False
    return len(near) >= LETTERS_SAFE_MIN and is_one_edit(word, near)


def are_numbered(one: str, other: str) -> bool:
    """`url1` and `url2` are two names, not one and its misspelling."""
    return one.translate(_NO_DIGITS) == other.translate(_NO_DIGITS)


def correct(node: Scalar, near: str) -> list[Edit]:
    """The edit that puts the near word in a scalar's place, where that is safe."""
    return respell(node, near) if is_safe(node.text, near) else []


def respell(node: Scalar, word: str) -> list[Edit]:
    """The edit that puts a word in a scalar's place; none where the scalar is a block of lines."""
    is_block = node.style is Style.LITERAL or node.style is Style.FOLDED
    return [] if is_block else [Edit(node.start, node.end, word)]
