"""What the result of an author's code becomes as JSON. It stands alone, beside the program of a child process."""

from __future__ import annotations

import json
import os

TYPE_CHECKING = False  # as in the program
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

encode = json.JSONEncoder(ensure_ascii=False, check_circular=False, allow_nan=False, separators=(",", ":")).encode


class Unfit(Exception):
    """Something in a result that JSON cannot hold."""


class Refused(Exception):
    """What cannot be done with the code or its result: the kind of the error, and its message."""


def encoded(value: object, bytes_max: int) -> bytes:
    try:
        data = encode(value).encode()
    except (TypeError, ValueError, RecursionError):
        data = encode(_plain_whole(value)).encode()
    if len(data) > bytes_max:
        message = f"the result has {len(data)} bytes as JSON, and may have {bytes_max}; write it to a file instead"
        raise Refused("budget_exceeded", message)
    return data


def _plain_whole(value: object) -> object:
    try:
        return plain(value, "result")
    except RecursionError:
        raise Unfit("`result` is nested too deeply for JSON, or holds itself") from None


def plain(value: Any, where: str) -> object:
    """A value as JSON can hold it: times as in ISO 8601, bytes in base64, a Decimal as text that keeps every digit."""
    if value is None or value is True or value is False:
        return value
    if isinstance(value, str):
        return _unicode(value, where)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return _finite(float(value), where)
    if isinstance(value, dict):
        return {_key(key, where): plain(item, f"{where}.{key}") for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item, f"{where}[{index}]") for index, item in enumerate(value)]
    if isinstance(value, (bytes, bytearray, memoryview)):
        import base64  # noqa: PLC0415

        return base64.b64encode(value).decode()
    return _converted(value, where)


def _converted(value: Any, where: str) -> object:
    """What is no JSON by itself. Types of libraries are known by how they look, so that none is imported."""
    kind = type(value)
    if hasattr(kind, "__dataclass_fields__"):
        return plain({name: getattr(value, name) for name in kind.__dataclass_fields__}, where)
    if kind.__name__ == "NAType":  # what pandas calls a missing value
        return None
    if (kind.__module__, kind.__name__) in _AS_TEXT or isinstance(value, os.PathLike):
        return str(value)
    for method, use in _BY_METHOD:
        if hasattr(value, method):
            return plain(use(value), where)
    if isinstance(value, (set, frozenset)):
        return _sorted([plain(item, where) for item in value])
    if hasattr(value, "__iter__") and not hasattr(value, "read"):
        return [plain(item, f"{where}[{index}]") for index, item in enumerate(value)]
    raise Unfit(f"`{where}` is a {kind.__name__}, which JSON cannot hold; make it text, a number, a list or a dict")


def _without_gaps(value: Any) -> object:
    """The rows of a data frame or the values of a series, without the index. What is missing is None, not NaN."""
    whole = value.astype(object)
    whole = whole.where(value.notna(), None) if hasattr(whole, "where") else whole
    return whole.to_dict("records") if hasattr(value, "columns") else whole.tolist()


def _counted(value: Any) -> Any:
    """Times of numpy in units that Python has too; finer ones would become bare numbers."""
    kind, _, unit = str(getattr(value, "dtype", "")).partition("64[")
    return value.astype(f"{kind}64[us]") if unit in ("ns]", "ps]", "fs]", "as]") else value


def _listed(value: Any) -> object:
    """Numbers of numpy with more digits than Python's give themselves. One with two parts is nothing for JSON."""
    found = value.tolist()
    if type(found) is not type(value):
        return found
    return complex(found) if value.dtype.kind == "c" else float(found)


_BY_METHOD: tuple[tuple[str, Callable[[Any], object]], ...] = (
    ("isoformat", lambda value: value.isoformat() if value == value else None),  # noqa: PLR0124
    ("total_seconds", lambda value: value.total_seconds()),
    ("model_dump", lambda value: value.model_dump()),
    ("isna", _without_gaps),
    ("to_dicts", lambda value: value.to_dicts()),
    ("tolist", lambda value: _listed(_counted(value))),
    ("to_list", lambda value: value.to_list()),
    ("_value_", lambda value: value.value),
    ("__struct_fields__", lambda value: {name: getattr(value, name) for name in value.__struct_fields__}),
    ("__attrs_attrs__", lambda value: {each.name: getattr(value, each.name) for each in value.__attrs_attrs__}),
    ("items", lambda value: dict(value.items())),
)
"""Dates and times, where one that is none is not equal to itself; durations, pydantic models, pandas, polars, numpy,
enumerations, msgspec, attrs, other mappings."""

_AS_TEXT = frozenset({("decimal", "Decimal"), ("uuid", "UUID"), ("fractions", "Fraction")})


def _unicode(text: str, where: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Unfit(f"`{where}` is text with half a character in it, which JSON cannot hold") from None
    return str.__str__(text)


def _finite(number: float, where: str) -> float:
    if number - number != 0:
        raise Unfit(f"`{where}` is {number}, which JSON cannot hold; use None or a number")
    return number


def _key(key: object, where: str) -> object:
    found = plain(key, f"a key of {where}")
    if isinstance(found, (list, dict)):
        raise Unfit(f"a key of `{where}` is a {type(key).__name__}; the keys of a dict must be text")
    return found


def _sorted(items: list[Any]) -> list[Any]:
    """A set in an order that is the same every time."""
    try:
        return sorted(items)
    except TypeError:
        return sorted(items, key=encode)
