"""A text cut at the lines where something new begins: the keys at its margin, and the items of a list below one."""

import re
from collections.abc import Iterator
from itertools import pairwise

import msgspec

_KEY_LINE = re.compile(r"^[^\s#\-%.,\]})\ufeff]", re.MULTILINE)
_BARE_HEAD = re.compile(r"[^\r\n]*:[ \t]*(?:#[^\r\n]*)?(?:\r\n?|\n|$)")
_EMPTY_LINES = re.compile(r"(?:[ \t]*(?:#[^\r\n]*)?(?:\r\n?|\n))*")
_FIRST_ITEM = re.compile(r"( *)-(?=[ \t\r\n])")


class Section(msgspec.Struct, frozen=True):
    """A key with its value, or where that is a list, each of its `items`; then `start` to `end` is the whole still."""

    start: int
    end: int
    items: "tuple[Section, ...]" = ()

    @property
    def parts(self) -> "tuple[Section, ...]":
        return self.items or (self,)


def sections_of(text: str) -> list[Section]:
    return [_with_items(text, start, end) for start, end in _stretches(_KEY_LINE, text, 0, len(text))]


def _stretches(begin: re.Pattern[str], text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    return pairwise((*(match.start() for match in begin.finditer(text, start, end)), end))


def _with_items(text: str, start: int, end: int) -> Section:
    head = _BARE_HEAD.match(text, start, end)
    if head is None:
        return Section(start, end)
    below = _EMPTY_LINES.match(text, head.end(), end)
    assert below is not None  # the pattern also matches nothing
    first = _FIRST_ITEM.match(text, below.end(), end)
    if first is None:
        return Section(start, end)
    item_line = re.compile(rf"^{first[1]}-(?=[ \t\r\n])", re.MULTILINE)
    return Section(start, end, tuple(Section(*ends) for ends in _stretches(item_line, text, first.start(), end)))
