"""Bytes to text. Size, byte order mark, UTF-8 and forbidden characters are checked before any parsing."""

import re

from noetl.playbook.diagnostics import Span
from noetl.playbook.source.lines import Lines
from noetl.playbook.source.nodes import Refused, SourceProblem

FILE_BYTES_MAX = 10 * 1024 * 1024
WIDE_FILE_BYTES_MAX = 3 * 1024 * 1024
"""With a single character beyond U+FFFF, such as an emoji, every character of a text takes four bytes of memory."""

_FOREIGN_MARKS = (
    (b"\xff\xfe\x00\x00", "UTF-32"),
    (b"\x00\x00\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
)
_WIDE_STARTS = tuple(bytes((start,)) for start in range(0xF0, 0xF5))
_SHOWN_BYTES_MAX = 64 * 1024
_GUESSED_BYTES = 1024
_UTF8_HINT = "save the file as UTF-8"
_CONTROL_BYTES = bytes(byte for byte in (*range(0x20), 0x7F) if byte not in b"\t\n\r")
_FORBIDDEN = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufeff\ufffe\uffff]")


def decode(data: bytes | str) -> tuple[bytes, str]:
    """The bytes for the parser and the text they mean, or `Refused`."""
    _check_size(len(data))
    encoded = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    _check_size(len(encoded))
    if len(encoded) > WIDE_FILE_BYTES_MAX:
        _check_wide(encoded)
    text = data if isinstance(data, str) else _text(data)
    if not text.isascii() or len(encoded.translate(None, _CONTROL_BYTES)) != len(encoded):
        _check_characters(text)
    return encoded, text


def readable(data: bytes | str, problem: SourceProblem) -> str:
    """The text to show beside a refusal: what cannot be decoded is replaced, what is too long is cut.

    Of another encoding nothing is shown: read as UTF-8 it would be noise.
    """
    head = data[:_SHOWN_BYTES_MAX] if problem.kind == "size" else data
    if isinstance(head, str):
        return head
    return "" if _foreign_encoding(head) else head.decode("utf-8", "replace")


def _check_size(found: int) -> None:
    if found > FILE_BYTES_MAX:
        raise Refused(_too_large(f"the file has {found:,} bytes or more; a playbook has at most {FILE_BYTES_MAX:,}"))


def _check_wide(encoded: bytes) -> None:
    starts = [at for start in _WIDE_STARTS if (at := encoded.find(start)) >= 0]
    if starts:
        line = encoded.count(b"\n", 0, min(starts)) + 1
        found = (
            f"the file has {len(encoded):,} bytes, and a character beyond U+FFFF, such as an emoji, on line {line:,}"
        )
        raise Refused(_too_large(f"{found}; with those a playbook has at most {WIDE_FILE_BYTES_MAX:,}"))


def _too_large(message: str) -> SourceProblem:
    hint = "move large data or code out of the playbook, or split it into several playbooks"
    return SourceProblem("size", message, Span(1, 1, 1, 1), hint)


def _text(data: bytes) -> str:
    foreign = _foreign_encoding(data)
    if foreign is not None:
        message = f"the file {foreign}; expected UTF-8"
        raise Refused(SourceProblem("encoding", message, Span(1, 1, 1, 1), _UTF8_HINT))
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refused(_bad_bytes(data, error)) from None


def _foreign_encoding(data: bytes) -> str | None:
    """What the file is, if a mark says so or its first bytes look so."""
    marked = next((name for mark, name in _FOREIGN_MARKS if data.startswith(mark)), None)
    if marked is not None:
        return f"is encoded in {marked}"
    guessed = _unmarked_encoding(data[:_GUESSED_BYTES])
    return f"looks like {guessed} without a byte order mark" if guessed is not None else None


def _unmarked_encoding(head: bytes) -> str | None:
    """In a wider encoding most characters of a playbook have NULs, and all at the same place."""
    if b"\0" not in head:
        return None
    quarter = len(head) // 4
    first, second, third, fourth = (head[lane : 4 * quarter : 4].count(0) for lane in range(4))
    if (first + second == 2 * quarter) != (third + fourth == 2 * quarter):
        return "UTF-32"
    left, right = first + third, second + fourth
    return "UTF-16" if min(left, right) == 0 and max(left, right) > quarter // 2 else None


def _bad_bytes(data: bytes, error: UnicodeDecodeError) -> SourceProblem:
    before = data[: error.start].decode("utf-8")
    found = data[error.start : error.start + 1].hex().upper()
    message = f"byte 0x{found} is not UTF-8 here ({error.reason})"
    line, column = Lines(before).position(len(before))
    return SourceProblem("encoding", message, Span(line, column, line, column + 1), _UTF8_HINT)


def _check_characters(text: str) -> None:
    match = _FORBIDDEN.search(text, 1 if text.startswith("\ufeff") else 0)
    if match is None:
        return
    code, start = ord(match[0]), match.start()
    name = "a NUL character" if code == 0 else f"the character U+{code:04X}"
    message = f"found {name}, which YAML does not allow in a text"
    hint = f'delete it, or write it as an escape in double quotes: "\\u{code:04x}"'
    if 0xD800 <= code <= 0xDFFF:
        hint = _UTF8_HINT
    raise Refused(SourceProblem("encoding", message, Lines(text).span(start, start + 1), hint))
