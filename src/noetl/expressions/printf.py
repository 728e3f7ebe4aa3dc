"""Formats with `%`, as the operator and the `format` filter do. Widths are bounded before anything is made."""

import re
from collections.abc import Mapping

from noetl.expressions.runtime import TEXT_SHIFT, Fault, Frame, charge, kind_of, text_of

WIDTH_MAX = 1000
"""The largest width or precision a conversion may ask for."""

_CONVERSION = re.compile(
    r"%(?:\((?P<key>[^)]*)\))?(?P<flags>[-+ #0]*)(?P<width>[0-9]*)(?:\.(?P<precision>[0-9]*))?(?P<type>.?)",
    re.DOTALL,
)
_TEXTS, _WHOLES, _REALS = "s", "dixXo", "fFeEgG"


def percent(frame: Frame, pattern: str, given: object) -> str:
    """`pattern % given`: a list gives the values in order, a mapping by key, anything else is the one value."""
    values = [*reversed(given)] if isinstance(given, (list, tuple)) else [given]
    # The values are taken from the end of this list, where that is cheap.
    keyed = given if isinstance(given, Mapping) else None
    charge(frame, (len(pattern) >> TEXT_SHIFT) + len(values))
    parts: list[str] = []
    position = 0
    for found in _CONVERSION.finditer(pattern):
        parts.append(pattern[position : found.start()])
        parts.append("%" if found["type"] == "%" else _convert(frame, found, _value(found, values, keyed)))
        position = found.end()
    if values and keyed is None:
        raise Fault("the format has fewer places than there are values")
    parts.append(pattern[position:])
    return "".join(parts)


def _value(found: re.Match[str], values: list[object], keyed: Mapping[str, object] | None) -> object:
    key = found["key"]
    if key is not None:
        if keyed is None:
            raise Fault(f"the format names `{key}` but there is no mapping")
        if key not in keyed:
            raise Fault(f"the format names `{key}`, which is not there")
        return keyed[key]
    if not values:
        raise Fault("the format has more places than there are values")
    return values.pop()


def _convert(frame: Frame, found: re.Match[str], value: object) -> str:
    kind, width, precision = found["type"], found["width"], found["precision"]
    if _is_too_wide(width) or _is_too_wide(precision):
        raise Fault(f"the format asks for a width of more than {WIDTH_MAX}")
    shape = f"%{found['flags']}{width}" + ("" if precision is None else f".{precision}") + kind
    if kind and kind in _TEXTS:
        words = text_of(frame, value)
        charge(frame, (max(len(words), int(width or 0)) >> TEXT_SHIFT) + 1)
        return shape % (words,)
    if kind and kind in _WHOLES + _REALS:
        return _number(frame, shape, kind, value)
    raise Fault(f"the format has `%{kind}`; there are s, d, i, x, X, o, f, F, e, E, g, G and %%")


def _number(frame: Frame, shape: str, kind: str, value: object) -> str:
    if not isinstance(value, (int, float)) or (kind in "xXo" and isinstance(value, float)):
        raise Fault(f"`%{kind}` formats a number, found {kind_of(value)}")
    text_of(frame, value)
    charge(frame, WIDTH_MAX >> TEXT_SHIFT)
    try:
        return shape % (value,)
    except (OverflowError, ValueError):
        raise Fault("the number cannot be formatted") from None


def _is_too_wide(digits: str | None) -> bool:
    return digits is not None and (len(digits) > 6 or int(digits or 0) > WIDTH_MAX)
