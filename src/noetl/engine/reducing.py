"""Reducers: how the values that iterations wrote to one key become one value, in whatever order they are combined.

Sums of numbers with fractions are kept as parts that lose nothing, so that grouping cannot show in the last digit.
Mappings to merge are kept as layers where some are stored outside the log; they are read back at the end.
"""

from collections.abc import Callable, Iterable
from math import fsum
from typing import assert_never

from noetl.engine.reference import External
from noetl.playbook.model import Reducer

NUMBER_MAX = 1e290
"""Numbers beyond this are not summed: their sum might be none."""


def fits(reducer: Reducer, value: object) -> bool:
    """Whether the reducer can take a value."""
    match reducer:
        case Reducer.SUM | Reducer.MIN | Reducer.MAX:
            return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= NUMBER_MAX
        case Reducer.MERGE:
            return isinstance(value, dict) or (isinstance(value, External) and value.holds == "dict")
        case Reducer.COUNT | Reducer.APPEND | Reducer.LAST:
            return True
        case _:
            assert_never(reducer)


def can_start(reducer: Reducer, start: object) -> bool:
    """Whether the reducer can go on from a value that ctx had."""
    return start is None or fits(Reducer.SUM if reducer is Reducer.COUNT else reducer, start)


def needs(reducer: Reducer) -> str:
    return f"`{reducer}` needs {'a mapping' if reducer is Reducer.MERGE else 'a number'}"


def first(reducer: Reducer, value: object) -> object:
    """One iteration's value as the reducer keeps it; lists and mappings are copies that may grow."""
    match reducer:
        case Reducer.APPEND:
            return [value]
        case Reducer.COUNT:
            return 1
        case Reducer.SUM if isinstance(value, float):
            return [value]
        case Reducer.MERGE if isinstance(value, External):
            return [value]
        case _:
            return own_copy(value)


def combine(reducer: Reducer, left: object, right: object) -> object:
    """Two kept values in index order. What does not fit never comes here; the left one may be changed in place."""
    match reducer, left, right:
        case Reducer.SUM, list(), _:
            return _added(left, _parts(right))
        case Reducer.SUM, _, list():
            return _added(_parts(left), right)
        case Reducer.SUM | Reducer.COUNT, int() | float(), int():
            return left + right
        case Reducer.MIN, int() | float(), int() | float():
            return min(left, right)
        case Reducer.MAX, int() | float(), int() | float():
            return max(left, right)
        case Reducer.APPEND, list(), list():
            left.extend(right)
            return left
        case Reducer.MERGE, dict(), dict():
            left.update(right)
            return left
        case Reducer.MERGE, _, _:
            return _stacked(_layers(left), _layers(right))
        case _:
            return right


def reduce_onto(reducer: Reducer, start: object, kept: object, read: Callable[[External], object]) -> object:
    """What the iterations gave, laid onto the value ctx had; None there is no value."""
    if start is not None:
        kept = combine(reducer, _begun(reducer, start), kept)
    match reducer, kept:
        case Reducer.SUM, list():
            return fsum(kept)
        case Reducer.MERGE, list():
            return _merged(read(layer) if isinstance(layer, External) else layer for layer in kept)
        case _:
            return kept


def _begun(reducer: Reducer, start: object) -> object:
    """The value that ctx had, as the reducer keeps it."""
    match reducer, start:
        case Reducer.APPEND, list():
            return list(start)
        case Reducer.COUNT, _:
            return start
        case _:
            return first(reducer, start)


def own_copy(value: object) -> object:
    """A copy of what may grow, so that nothing grows that an event holds."""
    if isinstance(value, list):
        return [layer.copy() if isinstance(layer, dict) else layer for layer in value]
    return value.copy() if isinstance(value, dict) else value


def _layers(value: object) -> list[object]:
    """Mappings to merge, as a list where some of them are stored outside the log."""
    return value if isinstance(value, list) else [value]


def _stacked(lower: list[object], upper: list[object]) -> list[object]:
    """Layers upon layers. Two mappings that meet become one, so that layers are few where few are stored."""
    under, over = lower[-1], upper[0]
    if isinstance(under, dict) and isinstance(over, dict):
        under.update(over)
        upper = upper[1:]
    lower.extend(upper)
    return lower


def _merged(layers: Iterable[object]) -> dict[str, object]:
    merged: dict[str, object] = {}
    for layer in layers:
        assert isinstance(layer, dict)
        merged.update(layer)
    return merged


def _parts(value: object) -> list[float]:
    """A number as floats that add up to it exactly."""
    if isinstance(value, list):
        return value
    assert isinstance(value, int)
    parts: list[float] = []
    while value:
        parts.append(float(value))
        value -= int(parts[-1])
    return parts


def _added(parts: list[float], more: Iterable[float]) -> list[float]:
    """Shewchuk's sum: the parts never overlap and stay exact, so they are few."""
    for number in more:
        kept = 0
        for part in parts[:]:
            big, small = (number, part) if abs(number) >= abs(part) else (part, number)
            number = big + small  # noqa: PLW2901
            rest = small - (number - big)
            if rest:
                parts[kept] = rest
                kept += 1
        parts[kept:] = [number]
    return parts
