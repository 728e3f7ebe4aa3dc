"""Places inside scalars: from offsets into the decoded text to offsets into the file, and edits there."""

import re
from functools import lru_cache

import msgspec
import yaml

from noetl.playbook.diagnostics import Edit, Span
from noetl.playbook.source.decoding import Decoded, decode_block, decode_flow
from noetl.playbook.source.nodes import Scalar, Source, Style
from noetl.playbook.source.scalars import escape_double, quote, resolve_plain

DECODED_CHARS_MAX = 100_000
"""A longer scalar that is not in the file as it is read is only located as a whole."""

_BLOCK_BREAKS = frozenset("\n\u2028\u2029")
_FIRST_RAW = re.compile("[\r\n\x85\u2028\u2029]( *)[^ \r\n\x85\u2028\u2029]")
_FIRST_TEXT = re.compile("(?:^|[\n\u2028\u2029])( *)[^ \n\u2028\u2029]")
_HEADER = re.compile("[|>][-+]?[1-9]")
_DOCUMENT_MARKER = re.compile(r"[\r\n\x85\u2028\u2029](?:---|\.\.\.)")
# What cannot stand in a scalar without an escape: control characters, line breaks and byte order marks.
_UNSAFE = re.compile("[\0-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")


class Located(msgspec.Struct, frozen=True, gc=False):
    """A range of the file. Unless `exact`, it is the whole scalar, because the part could not be told."""

    start: int
    end: int
    span: Span
    exact: bool


def locate(source: Source, scalar: Scalar, start: int, end: int) -> Located:
    """Where the characters [start, end) of the scalar's decoded text stand in the file."""
    found = _offsets(source, scalar, start, end)
    first, last = found if found is not None else (scalar.start, scalar.end)
    return Located(first, last, source.lines.span(first, last), found is not None)


def position(source: Source, offset: int) -> tuple[int, int]:
    """The line and column, from 1, of an offset into the file."""
    return source.lines.position(offset)


def replace_in_scalar(source: Source, scalar: Scalar, start: int, end: int, new_text: str) -> Edit | None:
    """The edit that replaces the characters [start, end) of the decoded text; None where none is safe."""
    place = locate(source, scalar, start, end)
    if not place.exact:
        return None
    if scalar.style is not Style.PLAIN and _is_word(new_text) and _is_word(source.text[place.start : place.end]):
        # A word for a word on one line changes neither quoting nor indentation.
        return Edit(place.start, place.end, new_text)
    wanted = scalar.text[:start] + new_text + scalar.text[end:]
    match scalar.style:
        case Style.PLAIN:
            return _edit_plain(source, scalar, place, new_text, wanted)
        case Style.SINGLE | Style.DOUBLE:
            return _edit_quoted(source, scalar, place, new_text, wanted)
        case _:
            return _edit_block(source, scalar, place, new_text, wanted)


def _is_word(text: str) -> bool:
    """Names, and names joined by dots."""
    return text.isascii() and text.replace(".", "a").isidentifier()


def _offsets(source: Source, scalar: Scalar, start: int, end: int) -> tuple[int, int] | None:
    text = scalar.text
    if not 0 <= start <= end <= len(text):
        return None
    raw = source.text[scalar.start : scalar.end]
    margin = 0 if scalar.style is Style.PLAIN else 1
    if scalar.style not in {Style.LITERAL, Style.FOLDED} and raw[margin : len(raw) - margin] == text:
        return scalar.start + margin + start, scalar.start + margin + end
    decoded = _decoded(raw, scalar)
    if decoded is None:
        return None
    if start == end:
        return _gap(scalar, decoded, start)
    return scalar.start + decoded.starts[start], scalar.start + decoded.ends[end - 1]


def _gap(scalar: Scalar, decoded: Decoded, at: int) -> tuple[int, int] | None:
    """The empty range before a character, or behind the last one; an empty scalar has none to go by."""
    if at < len(decoded.starts):
        offset = decoded.starts[at]
    elif decoded.ends:
        offset = decoded.ends[at - 1]
    else:
        return None
    return scalar.start + offset, scalar.start + offset


@lru_cache(maxsize=1)
def _decoded(raw: str, scalar: Scalar) -> Decoded | None:
    """The raw text decoded, if that gives what the parser gave. One scalar is often asked about many times."""
    if len(raw) > DECODED_CHARS_MAX:
        return None
    if scalar.style not in {Style.LITERAL, Style.FOLDED}:
        decoded = decode_flow(raw, scalar.style)
        return decoded if decoded.text == scalar.text else None
    indent = _indent(raw, scalar.text)
    return _decoded_block(raw, scalar.style, indent, scalar.text) if indent is not None else None


def _decoded_block(raw: str, style: Style, indent: int, text: str) -> Decoded | None:
    decoded = decode_block(raw, style, indent)
    same = decoded.text.startswith(text) and set(decoded.characters[len(text) :]) <= _BLOCK_BREAKS
    return decoded if same else None


def _indent(raw: str, text: str) -> int | None:
    """The indentation of a block scalar: the blanks that its first line has in the file but not decoded."""
    written, read = _FIRST_RAW.search(raw), _FIRST_TEXT.search(text)
    return len(written[1]) - len(read[1]) if written is not None and read is not None else None


def _edit_plain(source: Source, scalar: Scalar, place: Located, new_text: str, wanted: str) -> Edit | None:
    """The bare edit where the scalar may stay unquoted, else one that quotes all of it."""
    if "\n" in scalar.text or scalar.line != scalar.end_line or _UNSAFE.search(new_text):
        return None
    if type(resolve_plain(wanted)) is type(scalar.value):
        bare = source.text[scalar.start : place.start] + new_text + source.text[place.end : scalar.end]
        is_flow = _reads_as(f"[{source.text[scalar.start : scalar.end]}]", scalar.text)
        if _reads_as(f"- {bare}", wanted) and (not is_flow or _reads_as(f"[{bare}]", wanted)):
            return Edit(place.start, place.end, new_text)
    return Edit(scalar.start, scalar.end, quote(wanted)) if isinstance(scalar.value, str) else None


def _reads_as(document: str, text: str) -> bool:
    """Whether the parser finds just this one unquoted scalar in a list."""
    try:
        events = list(yaml.parse(document, yaml.CSafeLoader))
    except yaml.YAMLError:
        return False
    nodes = [event for event in events if isinstance(event, yaml.NodeEvent)][1:]
    return [(getattr(node, "value", None), getattr(node, "style", None)) for node in nodes] == [(text, "")]


def _edit_quoted(source: Source, scalar: Scalar, place: Located, new_text: str, wanted: str) -> Edit | None:
    escaped = new_text.replace("'", "''")
    if scalar.style is Style.DOUBLE:
        escaped = escape_double(new_text)
    elif _UNSAFE.search(new_text):
        return None
    edit = Edit(place.start, place.end, escaped)
    raw = _edited(source, scalar, edit)
    is_same = decode_flow(raw, scalar.style).text == wanted
    return edit if is_same and not _DOCUMENT_MARKER.search(raw) else None


def _edit_block(source: Source, scalar: Scalar, place: Located, new_text: str, wanted: str) -> Edit | None:
    raw = source.text[scalar.start : scalar.end]
    indent = _indent(raw, scalar.text)
    is_inside = place.end <= scalar.start + len(raw.rstrip())
    if indent is None or not is_inside or _UNSAFE.search(new_text.replace("\n", "")):
        return None
    line_break = "\r\n" if "\r\n" in raw else "\n"
    edit = Edit(place.start, place.end, new_text.replace("\n", line_break + " " * indent))
    new_raw = _edited(source, scalar, edit)
    is_same = _indent(new_raw, wanted) == indent and _decoded_block(new_raw, scalar.style, indent, wanted)
    return edit if is_same and _keeps_ends(scalar.text, wanted, raw) else None


def _keeps_ends(text: str, wanted: str, raw: str) -> bool:
    """The line breaks at the end depend on the header, and so may the blanks before the first line."""
    is_explicit = _HEADER.match(raw) is not None
    tail, new_tail = text[len(text.rstrip("\n")) :], wanted[len(wanted.rstrip("\n")) :]
    return tail == new_tail and (is_explicit or not wanted.lstrip("\n").startswith(" "))


def _edited(source: Source, scalar: Scalar, edit: Edit) -> str:
    return source.text[scalar.start : edit.start] + edit.text + source.text[edit.end : scalar.end]
