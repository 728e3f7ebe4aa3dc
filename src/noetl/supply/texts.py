"""Bytes from outside as text or JSON: in the charset that their content type names, else in what they are mostly in."""

from codecs import BOM_UTF8
from collections.abc import Mapping

import msgspec

from noetl.engine.depth import TOO_DEEP

NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError)
"""What `json_of` raises."""


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
        raise msgspec.DecodeError(TOO_DEEP) from None


def _charset(content_type: str) -> str:
    return _parameters(content_type).get("charset", "utf-8")


def _parameters(content_type: str) -> Mapping[str, str]:
    pairs = (part.partition("=") for part in content_type.split(";")[1:])
    return {name.strip().lower(): value.strip().strip('"') for name, _, value in pairs}
