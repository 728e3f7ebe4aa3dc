"""Bytes from outside as text or JSON: in the charset that their content type names, else in what they are mostly in."""

import json
from codecs import BOM_UTF8, lookup
from collections.abc import Mapping
from math import isinf
from typing import NoReturn

import msgspec

from noetl.engine.depth import TOO_DEEP

SHOWN_CHARS_MAX = 40
"""How much a message shows of a number."""

_CHARSETS = (
    "ascii", "big5", "cp", "euc_", "gb", "hp-roman8", "hz", "iso2022_", "iso8859-", "johab", "koi8-", "kz1048", "mac-",
    "palmos", "ptcp154", "shift_jis", "tis-620", "utf-",
)  # fmt: skip
"""How the names of character sets begin. Python decodes by others too, and some take hours."""


class BadJson(Exception):
    """Why a text is no JSON that can be read."""


class TooDeep(BadJson):
    """JSON that goes deeper than data may."""


def text_of(data: bytes, content_type: str) -> str:
    """By the declared charset; else UTF-8, or what older servers send without saying so.

    A mark of the byte order before a text is no part of it.
    """
    try:
        return data.decode(_charset(content_type)).removeprefix("\ufeff")
    except (UnicodeDecodeError, LookupError):
        return data.decode("latin-1")


def part_of_text(data: bytes, content_type: str) -> str:
    """Some bytes of a text, which may begin and end in the middle of a character."""
    try:
        return data.decode(_charset(content_type), "replace")
    except LookupError:
        return data.decode("latin-1")


def json_of(data: bytes, content_type: str) -> object:
    """JSON is UTF-8, but for those who say otherwise. Nothing at all is None."""
    is_plain = "charset" not in content_type.lower() and not data.startswith(BOM_UTF8)
    body = data if is_plain else text_of(data, content_type)
    try:
        return msgspec.json.decode(body) if body.strip() else None
    except RecursionError:
        raise TooDeep(TOO_DEEP) from None
    except UnicodeDecodeError as error:
        raise BadJson("a text in it is not UTF-8") from error
    except msgspec.DecodeError as error:
        raise BadJson(_reason(body, error)) from error


def is_utf8(content_type: str) -> bool:
    """Whether JSON of this content type is UTF-8, as nearly all is."""
    try:
        return _charset(content_type) == "utf-8"
    except LookupError:
        return False


def _reason(body: str | bytes, error: msgspec.DecodeError) -> str:
    """What many programs write and read that JSON does not know is named; all else is told as it was found."""
    try:
        json.loads(body, parse_constant=_refuse_constant, parse_float=_check_number)
    except BadJson as found:
        return str(found)
    except (ValueError, RecursionError):
        return str(error)
    return "a text in it has half a character, such as `\\ud800`, and is no Unicode"


def _refuse_constant(name: str) -> NoReturn:
    raise BadJson(f"it holds `{name}`, which JSON does not know; `null` stands for what is missing")


def _check_number(text: str) -> None:
    if isinf(float(text)):
        raise BadJson(f"the number {text[:SHOWN_CHARS_MAX]} in it is too large")


def _charset(content_type: str) -> str:
    """The character set that is named, or `LookupError` where there is none of that name."""
    name = _parameters(content_type).get("charset", "utf-8")
    found = lookup(name).name if name.isascii() and name.isprintable() else ""
    if not found.startswith(_CHARSETS):
        raise LookupError(name)
    return found


def _parameters(content_type: str) -> Mapping[str, str]:
    pairs = (part.partition("=") for part in content_type.split(";")[1:])
    return {name.strip().lower(): value.strip().strip('"') for name, _, value in pairs}
