"""How the text of a scalar came from the file: for every decoded character the place it was written at.

This repeats what the parser does with escapes, folded lines and indentation. `positions` compares the result
with the parser's own and trusts it only where both agree.
"""

import re

import msgspec

from noetl.playbook.source.nodes import Style

_BREAK = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
_BREAKS = "\r\n\x85\u2028\u2029"
_NAMED = {
    "0": "\0",
    "a": "\x07",
    "b": "\x08",
    "t": "\t",
    "\t": "\t",
    "n": "\n",
    "v": "\x0b",
    "f": "\x0c",
    "r": "\r",
    "e": "\x1b",
    " ": " ",
    '"': '"',
    "/": "/",
    "\\": "\\",
    "N": "\x85",
    "_": "\xa0",
    "L": "\u2028",
    "P": "\u2029",
}
_DIGITS = {"x": 2, "u": 4, "U": 8}


class Decoded:
    """Decoded characters with the offset where each begins and ends in the raw text."""

    __slots__ = ("characters", "ends", "starts")

    def __init__(self) -> None:
        self.characters: list[str] = []
        self.starts: list[int] = []
        self.ends: list[int] = []

    def add(self, character: str, start: int, end: int) -> None:
        self.characters.append(character)
        self.starts.append(start)
        self.ends.append(end)

    def add_breaks(self, breaks: "list[_Break]") -> None:
        for found in breaks:
            self.add(found.character, found.start, found.end)

    @property
    def text(self) -> str:
        return "".join(self.characters)


class _Break(msgspec.Struct, frozen=True, gc=False):
    character: str
    start: int
    end: int


def decode_flow(raw: str, style: Style) -> Decoded:
    """A plain or quoted scalar; `raw` holds the quotes."""
    decoded = Decoded()
    at, end = (0, len(raw)) if style is Style.PLAIN else (1, len(raw) - 1)
    while at < end:
        character = raw[at]
        if character in " \t" or character in _BREAKS:
            at = _fold(raw, at, end, decoded)
        elif style is Style.DOUBLE and character == "\\":
            at = _escape(raw, at, end, decoded)
        else:
            width = 2 if style is Style.SINGLE and character == "'" else 1
            decoded.add(character, at, at + width)
            at += width
    return decoded


def decode_block(raw: str, style: Style, indent: int) -> Decoded:
    """A literal or folded scalar with its header; the line breaks at the end are all kept, unlike by YAML."""
    decoded = Decoded()
    header = _BREAK.search(raw)
    at = header.end() if header is not None else len(raw)
    leading: list[_Break] = []
    follows_blank = False
    trailing, at = _blank_lines(raw, at, indent)
    while at < len(raw):
        is_blank = raw[at] in " \t"
        if style is Style.FOLDED and leading and leading[0].character == "\n" and not (follows_blank or is_blank):
            leading = [] if trailing else [_Break(" ", leading[0].start, leading[0].end)]
        decoded.add_breaks(leading + trailing)
        follows_blank = is_blank
        leading, at = _content_line(raw, at, decoded)
        trailing, at = _blank_lines(raw, at, indent)
    decoded.add_breaks(leading + trailing)
    return decoded


def _fold(raw: str, at: int, end: int, decoded: Decoded, *, joins: bool = False) -> int:
    """Blanks stay as they are unless a line break follows; breaks become a space or, doubled, line feeds."""
    start = at
    while at < end and raw[at] in " \t":
        at += 1
    if at >= end or raw[at] not in _BREAKS:
        if not joins:
            for offset in range(start, at):
                decoded.add(raw[offset], offset, offset + 1)
        return at
    breaks: list[_Break] = []
    while at < end and (raw[at] in " \t" or raw[at] in _BREAKS):
        if raw[at] in _BREAKS:
            found = _break_at(raw, at)
            breaks.append(found)
            at = found.end
        else:
            at += 1
    if not joins and breaks[0].character == "\n":
        breaks = breaks[1:] or [_Break(" ", start, at)]
    decoded.add_breaks(breaks)
    return at


def _escape(raw: str, at: int, end: int, decoded: Decoded) -> int:
    code = raw[at + 1]
    if code in _BREAKS:
        return _fold(raw, _break_at(raw, at + 1).end, end, decoded, joins=True)
    stop = at + 2 + _DIGITS.get(code, 0)
    decoded.add(_NAMED[code] if code in _NAMED else chr(int(raw[at + 2 : stop], 16)), at, stop)
    return stop


def _content_line(raw: str, at: int, decoded: Decoded) -> tuple[list[_Break], int]:
    found = _BREAK.search(raw, at)
    stop = found.start() if found is not None else len(raw)
    for offset in range(at, stop):
        decoded.add(raw[offset], offset, offset + 1)
    return ([_break_at(raw, stop)], _break_at(raw, stop).end) if found is not None else ([], stop)


def _blank_lines(raw: str, at: int, indent: int) -> tuple[list[_Break], int]:
    """The line breaks up to the next line with content, and where that content begins."""
    breaks: list[_Break] = []
    while True:
        stop = at + indent
        while at < stop and raw[at : at + 1] == " ":
            at += 1
        if at >= len(raw) or raw[at] not in _BREAKS:
            return breaks, at
        found = _break_at(raw, at)
        breaks.append(found)
        at = found.end


def _break_at(raw: str, at: int) -> _Break:
    match = _BREAK.match(raw, at)
    assert match is not None
    return _Break(match[0] if match[0] in "\u2028\u2029" else "\n", at, match.end())
