"""Filters and methods over text. Whatever makes longer text computes and charges the length first."""

import re
from collections.abc import Mapping

from noetl.expressions.printf import percent
from noetl.expressions.runtime import TEXT_SHIFT, Fault, Frame, charge, kind_of, text_of

_WORD = re.compile(r"\w+")
_WORD_START = re.compile(r"([-\s({\[<]+)")
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~")


def text(frame: Frame, value: object) -> str:
    """The value as text, charged for one pass over it."""
    words = text_of(frame, value)
    charge(frame, (len(words) >> TEXT_SHIFT) + 1)
    return words


def require_text(value: object) -> str:
    if isinstance(value, str):
        return value
    raise Fault(f"expected text, found {kind_of(value)}")


def require_int(value: object) -> int:
    if isinstance(value, int):
        return value
    raise Fault(f"expected a whole number, found {kind_of(value)}")


def string(frame: Frame, value: object) -> str:
    return text(frame, value)


def upper(frame: Frame, value: object) -> str:
    return text(frame, value).upper()


def lower(frame: Frame, value: object) -> str:
    return text(frame, value).lower()


def capitalize(frame: Frame, value: object) -> str:
    return text(frame, value).capitalize()


def title(frame: Frame, value: object) -> str:
    words = text(frame, value)
    charge(frame, len(words) >> 1)
    return "".join(part[:1].upper() + part[1:].lower() for part in _WORD_START.split(words))


def trim(frame: Frame, value: object, chars: object = None) -> str:
    words = text(frame, value)
    return words.strip(None if chars is None else require_text(chars))


def center(frame: Frame, value: object, width: object = 80) -> str:
    return padded(frame, text(frame, value), width).center(require_int(width))


def padded(frame: Frame, words: str, width: object) -> str:
    charge(frame, max(len(words), require_int(width)) >> TEXT_SHIFT)
    return words


def wordcount(frame: Frame, value: object) -> int:
    words = text(frame, value)
    charge(frame, len(words) >> 1)
    return len(_WORD.findall(words))


def replace(frame: Frame, value: object, old: object, new: object, count: object = None) -> str:
    words, before, after = text(frame, value), text(frame, old), text(frame, new)
    limit = -1 if count is None else require_int(count)
    found = words.count(before)
    times = found if limit < 0 else min(found, limit)
    charge(frame, (len(words) + times * max(len(after) - len(before), 0)) >> TEXT_SHIFT)
    charge(frame, times >> 2)
    return words.replace(before, after, limit)


def truncate(
    frame: Frame,
    value: object,
    length: object = 255,
    killwords: object = False,
    end: object = "...",
    leeway: object = 5,
) -> str:
    words, size, tail = text(frame, value), require_int(length), require_text(end)
    slack = 5 if leeway is None else require_int(leeway)
    if size < len(tail) or slack < 0:
        raise Fault("truncate needs a length of at least that of its end, and a leeway of at least 0")
    if len(words) <= size + slack:
        return words
    kept = words[: size - len(tail)]
    return kept + tail if killwords else kept.rsplit(" ", 1)[0] + tail


def indent(frame: Frame, value: object, width: object = 4, first: object = False, blank: object = False) -> str:
    words = text(frame, value) + "\n"
    margin = width if isinstance(width, str) else None
    size = len(margin) if margin is not None else max(require_int(width), 0)
    charge(frame, (len(words) >> 1) + ((words.count("\n") * size) >> TEXT_SHIFT))
    space = margin if margin is not None else " " * size
    if blank:
        result = words.replace("\n", "\n" + space)[: -len(space) - 1] if space else words[:-1]
    else:
        lines = words.splitlines()
        result = "\n".join([*lines[:1], *(space + line if line else line for line in lines[1:])])
    return space + result if first else result


def join(frame: Frame, items: list[str], between: str) -> str:
    size = sum(map(len, items)) + len(between) * len(items)
    charge(frame, (size >> TEXT_SHIFT) + (len(items) >> 1))
    return between.join(items)


def split(frame: Frame, value: object, sep: object = None, maxsplit: object = -1) -> list[object]:
    words = require_text(value)
    charge(frame, (len(words) >> 1) + 1)
    limit = require_int(maxsplit)
    return list(words.split(separator(sep), limit))


def separator(sep: object) -> str | None:
    if sep is None:
        return None
    if require_text(sep) == "":
        raise Fault("the separator is empty")
    return require_text(sep)


def format_(frame: Frame, value: object, *values: object, **named: object) -> str:
    if values and named:
        raise Fault("format takes values or names, not both")
    return percent(frame, text(frame, value), named or list(values))


def escape(frame: Frame, value: object) -> str:
    words = text(frame, value)
    charge(frame, len(words))
    for character, entity in (("&", "&amp;"), (">", "&gt;"), ("<", "&lt;"), ("'", "&#39;"), ('"', "&#34;")):
        words = words.replace(character, entity)
    return words


def urlencode(frame: Frame, value: object) -> str:
    """A text as a part of a path; a mapping or a list of pairs as a query."""
    if isinstance(value, Mapping):
        pairs: list[object] = [list(pair) for pair in value.items()]
    elif isinstance(value, (list, tuple)):
        pairs = list(value)
    else:
        return _quote(frame, value, b"/")
    return "&".join(_query_pair(frame, pair) for pair in pairs)


def _query_pair(frame: Frame, pair: object) -> str:
    if not isinstance(pair, (list, tuple)) or len(pair) != 2:
        raise Fault("urlencode takes text, a mapping, or a list of pairs")
    return f"{_quote_plus(frame, pair[0])}={_quote_plus(frame, pair[1])}"


def _quote_plus(frame: Frame, value: object) -> str:
    return _quote(frame, value, b" ").replace(" ", "+")


def _quote(frame: Frame, value: object, safe: bytes) -> str:
    words = text(frame, value)
    charge(frame, len(words))
    kept = _UNRESERVED | frozenset(safe)
    return "".join(chr(byte) if byte in kept else f"%{byte:02X}" for byte in encoded(words))


def encoded(words: str) -> bytes:
    try:
        return words.encode()
    except UnicodeEncodeError:
        raise Fault("the text holds half a character (a lone surrogate)") from None
