"""Filters over numbers and between data and text: `int`, `round`, `tojson`, `b64decode` and their kin."""

from binascii import Error as Base64Error
from binascii import a2b_base64, b2a_base64
from math import ceil, floor, isfinite

import msgspec

from noetl.expressions.runtime import (
    DATA_DEPTH_MAX,
    INT_BITS_MAX,
    SCALARS,
    TEXT_SHIFT,
    Fault,
    Frame,
    charge,
    deeper,
    items_of,
    kind_of,
)
from noetl.expressions.text_filters import encoded, require_int, require_text, text

NUMBER_LENGTH_MAX = 400
"""A longer text is no number."""
_PRECISION_MAX = 300


def absolute(frame: Frame, value: object) -> object:
    return abs(number(value))


def number(value: object) -> int | float:
    if isinstance(value, (int, float)):
        return value
    raise Fault(f"expected a number, found {kind_of(value)}")


def int_(frame: Frame, value: object, default: object = 0, base: object = 10) -> object:
    """A whole number, or the default when the value is none."""
    try:
        if isinstance(value, str):
            charge(frame, 10)
            return _bounded(_int_of_text(_short(value), require_int(base)))
        return _bounded(int(number(value)))
    except (ValueError, OverflowError, Fault):
        return default


def _int_of_text(value: str, base: int) -> int:
    try:
        return int(value, base)
    except ValueError:
        return int(float(value))


def _short(value: str) -> str:
    if len(value) > NUMBER_LENGTH_MAX:
        raise ValueError
    return value


def _bounded(value: int) -> int:
    if value.bit_length() > INT_BITS_MAX:
        raise ValueError
    return value


def float_(frame: Frame, value: object, default: object = 0.0) -> object:
    try:
        if isinstance(value, str):
            result = float(_short(value))
        else:
            result = float(number(value))
    except (ValueError, OverflowError, Fault):
        return default
    return result if isfinite(result) else default


def round_(frame: Frame, value: object, precision: object = 0, method: object = "common") -> object:
    digits = require_int(precision)
    if abs(digits) > _PRECISION_MAX:
        raise Fault(f"the precision is beyond {_PRECISION_MAX}")
    try:
        result = _rounded(number(value), digits, method)
    except OverflowError:
        raise Fault("the number is too large") from None
    return result


def _rounded(value: int | float, digits: int, method: object) -> int | float:
    if method == "common":
        return round(value, digits)
    if method not in ("ceil", "floor"):
        raise Fault("the method is common, ceil or floor")
    scale = 10.0**digits if digits < 0 else float(10**digits)
    return (ceil if method == "ceil" else floor)(value * scale) / scale


def tojson(frame: Frame, value: object, indent: object = None) -> str:
    spaces = 0 if indent is None else require_int(indent)
    if not 0 <= spaces <= 16:
        raise Fault("the indent is between 0 and 16")
    _check_json(frame, value, 0, spaces)
    try:
        data = msgspec.json.encode(value)
    except (TypeError, ValueError, msgspec.MsgspecError):
        raise Fault("the value holds something JSON cannot express") from None
    return (msgspec.json.format(data, indent=spaces) if indent is not None else data).decode()


def _check_json(frame: Frame, value: object, depth: int, spaces: int) -> None:
    """Charges the text that is about to be made: one step for each value, and the length of each text."""
    charge(frame, 1 + ((spaces * depth) >> TEXT_SHIFT))
    if isinstance(value, str):
        charge(frame, len(value) >> 1)
    elif type(value) in SCALARS:
        return
    elif isinstance(value, dict):
        deeper(depth)
        for key, item in value.items():
            _check_json(frame, key, depth, 0)
            _check_json(frame, item, depth + 1, spaces)
    elif isinstance(value, (list, tuple)):
        deeper(depth)
        for item in items_of(value):
            _check_json(frame, item, depth + 1, spaces)
    else:
        raise Fault(f"{kind_of(value)} has no JSON")


def fromjson(frame: Frame, value: object) -> object:
    source = require_text(value)
    charge(frame, len(source) + 1)
    try:
        return msgspec.json.decode(encoded(source))
    except RecursionError:
        raise Fault(f"data nested more than {DATA_DEPTH_MAX} deep") from None
    except msgspec.MsgspecError as error:
        raise Fault(f"the text is not JSON ({error})") from None


def b64encode(frame: Frame, value: object) -> str:
    return b2a_base64(encoded(text(frame, value)), newline=False).decode()


def b64decode(frame: Frame, value: object) -> str:
    source = require_text(value)
    charge(frame, (len(source) >> TEXT_SHIFT) + 1)
    try:
        return a2b_base64(source, strict_mode=True).decode()
    except UnicodeDecodeError:
        raise Fault("the decoded bytes are not UTF-8 text") from None
    except (Base64Error, ValueError):
        raise Fault("the text is not base64") from None
