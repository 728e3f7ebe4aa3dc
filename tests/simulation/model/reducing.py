"""How what parallel iterations wrote to ctx becomes one patch: by index, by key, by reducer."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from noetl.playbook.model import Reducer
from tests.simulation.model.values import UNSURE, Lost, Patch, is_unsure, overlap

NUMBER_MAX = 1e290
Kept = dict[str, list[object]]
"""The values that iterations wrote to keys with a reducer, in index order."""


class Conflict(Exception):
    """Two iterations do not agree, or a reducer cannot take a value."""


def gathered(patches: Sequence[tuple[Patch, Kept]], reducers: Mapping[str, Reducer]) -> tuple[Patch, Kept]:
    """The writes on which all agree, and the values that wait for their reducer."""
    agreed: Patch = {}
    kept: Kept = {}
    for patch, inner in patches:
        for path, values in inner.items():
            kept.setdefault(path, []).extend(values)
        for path, value in _folded(patch).items():
            if path in reducers:
                kept.setdefault(path, []).append(_fitting(reducers[path], value))
            else:
                _agree(agreed, path, value)
    return agreed, kept


def _folded(patch: Patch) -> Patch:
    """What an iteration wrote inside a key that it had written before is part of that key's value."""
    for path in patch:
        if any(path.startswith(f"{other}.") for other in patch):
            raise Lost("an iteration wrote a key and one inside it")
    return patch


def _agree(agreed: Patch, path: str, value: object) -> None:
    if is_unsure(value):
        raise Lost("an iteration wrote something unsure")
    for other, known in agreed.items():
        if overlap(tuple(path.split(".")), tuple(other.split("."))) and (other != path or known != value):
            raise Conflict
    agreed[path] = value


def _fitting(reducer: Reducer, value: object) -> object:
    if value is UNSURE:
        raise Lost("an iteration wrote something unsure")
    needs_number = reducer in (Reducer.SUM, Reducer.MIN, Reducer.MAX)
    if (needs_number and not _is_number(value)) or (reducer is Reducer.MERGE and not isinstance(value, dict)):
        raise Conflict
    return value


def reduced(reducer: Reducer, start: object, values: Sequence[object]) -> object:
    """From the value ctx had, if it had one, over the values of the iterations."""
    if is_unsure(start):
        raise Lost("a reducer starts from something unsure")
    if reducer is Reducer.COUNT:
        return _sum([*([] if start is None else [_fitting(Reducer.SUM, start)]), len(values)])
    if reducer is Reducer.LAST:
        return values[-1]
    if reducer is Reducer.APPEND:
        return [*(start if isinstance(start, list) else [] if start is None else [start]), *values]
    every = [*([] if start is None else [_fitting(reducer, start)]), *values]
    return _over(reducer, every)


def _over(reducer: Reducer, values: Sequence[object]) -> object:
    if reducer is Reducer.SUM:
        return _sum(values)
    if reducer is Reducer.MERGE:
        return {key: value for each in values if isinstance(each, dict) for key, value in each.items()}
    numbers = [value for value in values if isinstance(value, int | float)]
    return min(numbers) if reducer is Reducer.MIN else max(numbers)


def _sum(values: Sequence[object]) -> object:
    """Exact: only the last step rounds."""
    numbers = [value for value in values if isinstance(value, int | float)]
    total = sum((Fraction(number) for number in numbers), Fraction())
    return float(total) if any(isinstance(number, float) for number in numbers) else int(total)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= NUMBER_MAX
