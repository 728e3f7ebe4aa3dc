"""Some items of a JSON list that comes piece by piece. They alone are kept; of the others only the bounds are seen."""

import re
from codecs import BOM_UTF8

_SCALARS = re.compile(rb'[^"\[\]{}]*+')
_STRING = rb'"(?>[^"\\]++|\\.)*+"'
_WHOLE_STRING = re.compile(_STRING, re.DOTALL)
_REST_OF_STRING = re.compile(rb'(?>[^"\\]++|\\.)*+', re.DOTALL)
_INSIDE = re.compile(rb'(?>[^"\[\]{}]++|' + _STRING + rb")*+", re.DOTALL)
_SHALLOW = rb"[\[{](?>[^\"\[\]{}]++|" + _STRING + rb"|[\[{](?>[^\"\[\]{}]++|" + _STRING + rb")*+[\]}])*+[\]}]"
_BATCH = 128
_ITEMS = re.compile(rb'(?:(?>[^"\[\]{},]++|' + _STRING + rb"|" + _SHALLOW + rb")*+,){%d}+" % _BATCH, re.DOTALL)
"""So many items, with their commas, that hold brackets in brackets at most. Most lists are passed over by it alone."""

_BLANKS = re.compile(rb"[ \t\r\n]*+")
_QUOTE, _COMMA = b'",'
_OPENING = b"[{"


class NotAList(Exception):
    """The data is something else, which begins with `first`."""

    def __init__(self, first: bytes) -> None:
        super().__init__(first)
        self.first = first


class Items:
    """Items `start` up to `stop` of a list."""

    def __init__(self, start: int, stop: int | None) -> None:
        self._bounds = _Bounds(start, stop)
        self._is_empty = start == stop
        self._has_before = start > 0
        self._kept = bytearray()
        self._at = 0

    @property
    def size(self) -> int:
        """How many bytes are kept."""
        return len(self._kept)

    def feed(self, piece: bytes) -> None:
        """The next piece; `NotAList` where it shows that there are no items."""
        self._bounds.feed(piece)
        begin, end = self._bounds.begin, self._bounds.end
        if begin is not None and not self._is_empty:
            self._kept += piece[max(0, begin - self._at) : None if end is None else max(0, end - self._at)]
        self._at += len(piece)

    def json(self) -> bytes:
        """A list of the items, with a null for those before and one for those after. It breaks off where the data does.

        By these nulls an item that is missing before or after a comma breaks the list too.
        """
        if not self._bounds.is_list:
            raise NotAList(b"")
        if self._is_empty or (self._bounds.begin is None and self._bounds.is_closed):
            return b"[]"
        before = b"null," if self._has_before else b""
        after = b",null" if self._bounds.is_stopped else b""
        return b"[" + before + bytes(self._kept) + (after + b"]" if self._bounds.end is not None else b"")

    def of(self, found: list[object]) -> list[object]:
        """What `json` was read as, without the nulls for others."""
        if self._is_empty or self._bounds.begin is None:
            return []
        return found[1 if self._has_before else 0 : len(found) - 1 if self._bounds.is_stopped else None]


class _Bounds:
    """Where the wanted items begin and end: at two commas of the list, or at its own bounds."""

    def __init__(self, start: int, stop: int | None) -> None:
        self.begin: int | None = None
        self.end: int | None = None
        self.is_list = False
        self.is_closed = False
        self.is_stopped = False
        self._start, self._stop = start, stop
        self._at = 0
        self._carried = b""
        self._commas = 0
        self._depth = 0
        self._is_in_string = False
        self._may_batch = True

    def feed(self, piece: bytes) -> None:
        text = self._carried + piece
        self._may_batch = True
        at = 0 if self.is_list else self._entered(text)
        while at < len(text) and self.end is None and self.is_list:
            after = self._passed(text, at)
            if after == at:
                break
            at = after
        self._carried = text[at:] if self.end is None else b""
        self._at += at

    def _entered(self, text: bytes) -> int:
        """Up to where it was looked at for the beginning of the list."""
        if BOM_UTF8.startswith(text):
            return 0
        at = _end(_BLANKS, text, len(BOM_UTF8) if text.startswith(BOM_UTF8) else 0)
        first = text[at : at + 1]
        if first not in (b"[", b""):
            raise NotAList(first)
        return self._opened(at) if first else at

    def _opened(self, at: int) -> int:
        self.is_list = True
        self._depth = 1
        self._note(at)
        return at + 1

    def _passed(self, text: bytes, at: int) -> int:
        """Passes over what is of no interest, and the sign after it; the same place where more must be seen."""
        if self._is_in_string:
            return self._through_string(text, at)
        at = self._over_items(text, at) if self._depth == 1 else _end(_INSIDE, text, at)
        if at == len(text):
            return at
        sign = text[at]
        if sign == _QUOTE:
            return self._into_string(text, at)
        if sign == _COMMA:
            self._commas += 1
            self._note(at)
        elif sign in _OPENING:
            self._depth += 1
        else:
            self._depth -= 1
            self._close(at)
        return at + 1

    def _over_items(self, text: bytes, at: int) -> int:
        """Up to the comma that is looked for, or to an item that must be gone into."""
        at = self._over_scalars(text, at)
        if self._may_batch and text[at : at + 1] != b",":
            at = self._over_scalars(text, self._over_batches(text, at))
        return at

    def _over_scalars(self, text: bytes, at: int) -> int:
        end = _end(_SCALARS, text, at)
        commas = text.count(b",", at, end)
        target = self._target()
        if target is None or self._commas + commas < target:
            self._commas += commas
            return end
        while self._commas < target - 1:
            at = text.index(b",", at) + 1
            self._commas += 1
        return text.index(b",", at)

    def _over_batches(self, text: bytes, at: int) -> int:
        """What fails once is not tried again in this piece, so that the work stays in proportion to it."""
        target = self._target()
        while target is None or self._commas + _BATCH < target:
            found = _ITEMS.match(text, at)
            if found is None:
                break
            self._commas += _BATCH
            at = found.end()
        self._may_batch = False
        return at

    def _target(self) -> int | None:
        return self._start if self.begin is None else self._stop

    def _into_string(self, text: bytes, at: int) -> int:
        string = _WHOLE_STRING.match(text, at)
        self._is_in_string = string is None
        return at + 1 if string is None else string.end()

    def _through_string(self, text: bytes, at: int) -> int:
        at = _end(_REST_OF_STRING, text, at)
        if text[at : at + 1] != b'"':
            return at
        self._is_in_string = False
        return at + 1

    def _note(self, at: int) -> None:
        """The bracket by which a list begins counts as the comma before its first item."""
        if self._commas == self._start:
            self.begin = self._at + at + 1
        if self._commas == self._stop:
            self.end, self.is_stopped = self._at + at, True

    def _close(self, at: int) -> None:
        if self._depth == 0:
            self.end, self.is_closed = self._at + at, True


def _end(pattern: re.Pattern[bytes], text: bytes, at: int) -> int:
    found = pattern.match(text, at)
    assert found is not None  # each of them matches nothing, too
    return found.end()
