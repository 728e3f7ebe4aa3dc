"""Filters over lists and mappings. Elements are charged as they are visited, new lists as they are made."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from noetl.expressions.access import MISSING, attribute_reader, no_attribute
from noetl.expressions.operations import add, equal
from noetl.expressions.runtime import (
    SCALARS,
    SCAN_SHIFT,
    TEXT_SHIFT,
    Fault,
    Frame,
    Missing,
    charge,
    elements,
    kind_of,
    text_of,
)
from noetl.expressions.text_filters import join as join_texts
from noetl.expressions.text_filters import require_int, require_text

Reader: TypeAlias = Callable[[object], object]


def length(frame: Frame, value: object) -> int:
    if isinstance(value, (str, list, tuple, Mapping)):
        return len(value)
    raise Fault(f"{kind_of(value)} has no length")


def first(frame: Frame, value: object) -> object:
    if not isinstance(value, (list, tuple, str, Mapping)):
        raise Fault(f"expected a list, found {kind_of(value)}")
    for item in value:
        return item
    raise Missing("the list is empty, it has no first element")


def last(frame: Frame, value: object) -> object:
    items = elements(frame, value) if isinstance(value, Mapping) else value
    if not isinstance(items, (list, tuple, str)):
        raise Fault(f"expected a list, found {kind_of(items)}")
    if not items:
        raise Missing("the list is empty, it has no last element")
    return items[-1]


def list_(frame: Frame, value: object) -> list[object]:
    return list(elements(frame, value))


def reverse(frame: Frame, value: object) -> object:
    if isinstance(value, str):
        charge(frame, len(value) >> TEXT_SHIFT)
        return value[::-1]
    return list(elements(frame, value))[::-1]


def items(frame: Frame, value: object) -> list[object]:
    return list(pairs_of(frame, value))


def pairs_of(frame: Frame, value: object) -> list[list[object]]:
    if not isinstance(value, Mapping):
        raise Fault(f"expected a mapping, found {kind_of(value)}")
    charge(frame, len(value) * 3)
    return [[key, item] for key, item in value.items()]


def join(frame: Frame, value: object, d: object = "", attribute: object = None) -> str:
    found = elements(frame, value)
    parts = found if attribute is None else map(_reader(attribute), found)
    return join_texts(frame, [text_of(frame, part) for part in parts], text_of(frame, d))


def sum_(frame: Frame, value: object, attribute: object = None, start: object = 0) -> object:
    read = _reader(attribute)
    total = start
    for item in elements(frame, value):
        total = add(frame, total, read(item))
    return total


def sort(
    frame: Frame,
    value: object,
    reverse: object = False,
    case_sensitive: object = False,
    attribute: object = None,
) -> list[object]:
    paths = attribute.split(",") if isinstance(attribute, str) else [attribute]
    found = elements(frame, value)
    columns = [_column(frame, found, path, case_sensitive) for path in paths]
    return _ordered(frame, found, columns, reverse)


def dictsort(
    frame: Frame, value: object, case_sensitive: object = False, by: object = "key", reverse: object = False
) -> list[object]:
    if by not in ("key", "value"):
        raise Fault("dictsort orders by key or by value")
    pairs = items(frame, value)
    return _ordered(frame, pairs, [_column(frame, pairs, 0 if by == "key" else 1, case_sensitive)], reverse)


def unique(frame: Frame, value: object, case_sensitive: object = False, attribute: object = None) -> list[object]:
    read = _reader(attribute)
    kept: list[object] = []
    seen: dict[object, None] = {}
    others: list[object] = []
    for item in elements(frame, value):
        key = _folded(frame, read(item), case_sensitive)
        if type(key) in SCALARS:
            if key not in seen:
                seen[key] = None
                kept.append(item)
        elif not any(equal(frame, key, other) for other in others):
            others.append(key)
            kept.append(item)
    return kept


def min_(frame: Frame, value: object, case_sensitive: object = False, attribute: object = None) -> object:
    return _extreme(frame, value, case_sensitive, attribute, is_last=False)


def max_(frame: Frame, value: object, case_sensitive: object = False, attribute: object = None) -> object:
    return _extreme(frame, value, case_sensitive, attribute, is_last=True)


def _extreme(frame: Frame, value: object, case_sensitive: object, attribute: object, *, is_last: bool) -> object:
    found = elements(frame, value)
    if not found:
        raise Missing("the list is empty, it has neither a smallest nor a largest element")
    keys = _order_keys(frame, [_column(frame, found, attribute, case_sensitive)])
    choose = max if is_last else min
    return found[choose(range(len(keys)), key=keys.__getitem__)]


def groupby(
    frame: Frame, value: object, attribute: object, default: object = None, case_sensitive: object = False
) -> list[object]:
    """Pairs of a value and the elements that have it, ordered by that value."""
    found = elements(frame, value)
    read = attribute_reader(attribute) if default is not None else _reader(attribute)
    values = [default if value is MISSING else value for value in map(read, found)]
    keys = [_folded(frame, item, case_sensitive) for item in values]
    groups: dict[object, list[object]] = {}
    order = _ordered(frame, list(range(len(keys))), [keys], False)
    for index in map(require_int, order):
        charge(frame, 4)
        groups.setdefault(keys[index], [values[index], []])
        group = groups[keys[index]][1]
        assert isinstance(group, list)
        group.append(found[index])
    return list(groups.values())


def batch(frame: Frame, value: object, linecount: object, fill_with: object = None) -> list[object]:
    found, size = elements(frame, value), _count(linecount)
    rows = [list(found[start : start + size]) for start in range(0, len(found), size)]
    if rows and fill_with is not None:
        charge(frame, (size - len(rows[-1])) >> 2)
        rows[-1] += [fill_with] * (size - len(rows[-1]))
    charge(frame, len(rows) * 3)
    return list(rows)


def slice_(frame: Frame, value: object, slices: object, fill_with: object = None) -> list[object]:
    found, count = elements(frame, value), _count(slices)
    charge(frame, count * 3)
    size, longer = divmod(len(found), count)
    columns: list[object] = []
    position = 0
    for number in range(count):
        after = position + size + (number < longer)
        column = list(found[position:after])
        columns.append(column if fill_with is None or number < longer else [*column, fill_with])
        position = after
    return columns


def _count(value: object) -> int:
    count = require_int(value)
    if count < 1:
        raise Fault("the number is at least 1")
    return count


def _reader(attribute: object) -> Reader:
    if attribute is None:
        return lambda item: item
    read = attribute_reader(attribute)

    def required(item: object) -> object:
        value = read(item)
        if value is MISSING:
            raise no_attribute(attribute)
        return value

    return required


def _column(
    frame: Frame, found: list[object] | tuple[object, ...], attribute: object, case_sensitive: object
) -> list[object]:
    read = _reader(attribute)
    return [_folded(frame, read(item), case_sensitive) for item in found]


def _folded(frame: Frame, value: object, case_sensitive: object) -> object:
    if not isinstance(value, str) or case_sensitive:
        return value
    charge(frame, len(value) >> TEXT_SHIFT)
    return value.lower()


def _ordered(
    frame: Frame, found: list[object] | tuple[object, ...], columns: list[list[object]], reverse: object
) -> list[object]:
    keys = _order_keys(frame, columns)
    return [found[index] for index in sorted(range(len(keys)), key=keys.__getitem__, reverse=bool(reverse))]


def _order_keys(frame: Frame, columns: list[list[object]]) -> list[tuple[object, ...]]:
    """One key for each element. In each column all values are numbers or all are text: nothing else has an order."""
    for column in columns:
        rounds = len(column).bit_length()
        charge(frame, (len(column) * rounds) >> 1)
        if all(isinstance(value, (int, float)) for value in column):
            continue
        charge(frame, (sum(len(_sortable(value)) for value in column) >> SCAN_SHIFT) * rounds)
    return list(zip(*columns, strict=True))


def _sortable(value: object) -> str:
    if isinstance(value, str):
        return require_text(value)
    raise Fault(f"only numbers or only texts can be ordered, found {kind_of(value)} among them")
