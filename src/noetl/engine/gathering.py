"""What ended iterations have given so far, kept by intervals of indexes so that memory follows gaps, not items.

Neighbouring intervals are merged in index order, so the finishing order never shows in the result.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence

import msgspec

from noetl.playbook.model import Reducer

Values = Mapping[str, object]


class Write(msgspec.Struct, frozen=True):
    """A value and the index of the iteration that wrote it."""

    value: object
    index: int


class Clash(msgspec.Struct, frozen=True):
    """Writes that do not go together; `index` is that of the later iteration."""

    index: int
    message: str


class Gathered(msgspec.Struct):
    """The part of one interval. `data` is None once it grew too large to be carried inline.

    `inner` counts, for every key that has a written key inside it, how many there are.
    """

    data: list[object] | None
    writes: dict[str, Write] = {}
    inner: dict[str, int] = {}
    reduced: dict[str, object] = {}
    clash: Clash | None = None


class Intervals(msgspec.Struct):
    """Disjoint intervals of ended indexes in order; neighbours never touch."""

    starts: list[int] = []
    stops: list[int] = []
    parts: list[Gathered] = []

    def __contains__(self, index: int) -> bool:
        at = bisect_right(self.starts, index) - 1
        return at >= 0 and index < self.stops[at]

    def first_gap(self, index: int) -> int:
        """The index itself, or the first one after it that has not ended."""
        at = bisect_right(self.starts, index) - 1
        return self.stops[at] if at >= 0 and index < self.stops[at] else index

    def gaps(self, count: int) -> list[int]:
        """The indexes below `count` that have not ended."""
        edges = zip([0, *self.stops], [*self.starts, count], strict=True)
        return [index for start, stop in edges for index in range(start, stop)]

    def copy(self) -> "Intervals":
        """Intervals that may grow without these changing."""
        return Intervals(list(self.starts), list(self.stops), [_copied(part) for part in self.parts])

    def add(self, index: int, part: Gathered, reducers: Mapping[str, Reducer]) -> None:
        """Note that an index, not in the set yet, has ended."""
        at = bisect_right(self.starts, index)
        touches_left = at > 0 and self.stops[at - 1] == index
        touches_right = at < len(self.starts) and self.starts[at] == index + 1
        if touches_left:
            _join(self.parts[at - 1], part, reducers)
            self.stops[at - 1] = index + 1
        elif touches_right:
            _join(part, self.parts[at], reducers)
            self.parts[at] = part
            self.starts[at] = index
        else:
            self.starts.insert(at, index)
            self.stops.insert(at, index + 1)
            self.parts.insert(at, part)
        if touches_left and touches_right:
            _join(self.parts[at - 1], self.parts[at], reducers)
            self.stops[at - 1] = self.stops[at]
            del self.starts[at], self.stops[at], self.parts[at]

    def drop_data(self) -> None:
        for part in self.parts:
            part.data = None

    def whole(self, reducers: Mapping[str, Reducer]) -> Gathered:
        """Everything in index order, gaps passed over. The intervals are spent by it."""
        total = Gathered([])
        for part in self.parts:
            _join(total, part, reducers)
        return total


def part_of(
    index: int, data: list[object] | None, writes: Values, reduced: Values, reducers: Mapping[str, Reducer]
) -> Gathered:
    """What one iteration gave: its data, its writes, and what loops inside it have reduced already."""
    part = Gathered(data, {}, {}, _grown(reduced))
    for path, value in writes.items():
        reducer = reducers.get(path)
        if reducer is None:
            _write(part, path, Write(value, index))
        elif _fits(reducer, value):
            part.reduced[path] = _first(reducer, value)
        else:
            part.clash = _earlier(part.clash, _misfit(index, path, reducer, value))
    return part


def reduce_onto(reducer: Reducer, start: object, gathered: object) -> object:
    """What the iterations gave, laid onto the value ctx had."""
    if start is None or reducer is Reducer.LAST:
        return gathered
    if reducer is Reducer.APPEND:
        return [*(start if isinstance(start, list) else [start]), *(gathered if isinstance(gathered, list) else ())]
    if reducer is Reducer.COUNT:
        return _combine(reducer, start, gathered) if _fits(Reducer.SUM, start) else gathered
    return _combine(reducer, _first(reducer, start), gathered) if _fits(reducer, start) else gathered


def _copied(part: Gathered) -> Gathered:
    data = list(part.data) if part.data is not None else None
    return Gathered(data, dict(part.writes), dict(part.inner), _grown(part.reduced), part.clash)


def _grown(reduced: Values) -> dict[str, object]:
    """What was reduced so far, in lists and mappings that may grow: those of a fact stay as they were recorded."""
    return {path: value.copy() if isinstance(value, list | dict) else value for path, value in reduced.items()}


def _misfit(index: int, path: str, reducer: Reducer, value: object) -> Clash:
    wanted = "a mapping" if reducer is Reducer.MERGE else "a number"
    message = f"iteration {index} wrote {type(value).__name__} to `ctx.{path}`, where `{reducer}` needs {wanted}"
    return Clash(index, message)


def _join(left: Gathered, right: Gathered, reducers: Mapping[str, Reducer]) -> None:
    if left.data is None or right.data is None:
        left.data = None
    else:
        left.data.extend(right.data)
    left.clash = _earlier(left.clash, right.clash)
    for path, write in right.writes.items():
        _write(left, path, write)
    for path, value in right.reduced.items():
        if path in left.reduced:
            left.reduced[path] = _combine(reducers[path], left.reduced[path], value)
        else:
            left.reduced[path] = value


def _write(part: Gathered, path: str, write: Write) -> None:
    known = part.writes.get(path)
    if known is not None:
        if known.value != write.value:
            part.clash = _earlier(part.clash, _clash(path, known, path, write))
        return
    part.clash = _earlier(part.clash, _overlap(part, path, write))
    part.writes[path] = write
    for outer in _outer(path):
        part.inner[outer] = part.inner.get(outer, 0) + 1


def _overlap(part: Gathered, path: str, write: Write) -> Clash | None:
    """A key written beside one inside it, unless one iteration wrote both."""
    for outer in _outer(path):
        known = part.writes.get(outer)
        if known is not None and known.index != write.index:
            return _clash(outer, known, path, write)
    if part.inner.get(path):
        for inside, known in part.writes.items():
            if inside.startswith(path + ".") and known.index != write.index:
                return _clash(inside, known, path, write)
    return None


def _clash(path: str, one: Write, other_path: str, other: Write) -> Clash:
    (early_path, early), (late_path, late) = sorted(
        ((path, one), (other_path, other)), key=lambda each: (each[1].index, each[0])
    )
    message = (
        f"iteration {early.index} wrote `ctx.{early_path}` and iteration {late.index} wrote `ctx.{late_path}`; "
        "declare a reducer under `loop.spec.policy.reduce`, or write to different keys"
    )
    return Clash(late.index, message)


def _outer(path: str) -> Sequence[str]:
    parts = path.split(".")
    return [".".join(parts[:length]) for length in range(1, len(parts))]


def _earlier(one: Clash | None, other: Clash | None) -> Clash | None:
    if one is None or other is None:
        return one or other
    return min(one, other, key=lambda clash: (clash.index, clash.message))


def _first(reducer: Reducer, value: object) -> object:
    """One iteration's value as the reducer keeps it; lists and mappings are copies that may grow."""
    match reducer:
        case Reducer.APPEND:
            return [value]
        case Reducer.COUNT:
            return 1
        case Reducer.MERGE if isinstance(value, dict):
            return dict(value)
        case _:
            return value


def _fits(reducer: Reducer, value: object) -> bool:
    match reducer:
        case Reducer.SUM | Reducer.MIN | Reducer.MAX:
            return isinstance(value, int | float) and not isinstance(value, bool)
        case Reducer.MERGE:
            return isinstance(value, dict)
        case Reducer.COUNT | Reducer.APPEND | Reducer.LAST:
            return True


def _combine(reducer: Reducer, left: object, right: object) -> object:
    """Left and right in index order. Values of the wrong type never come here: they are clashes."""
    match reducer:
        case Reducer.SUM | Reducer.COUNT if isinstance(left, int | float) and isinstance(right, int | float):
            return left + right
        case Reducer.MIN if isinstance(left, int | float) and isinstance(right, int | float):
            return min(left, right)
        case Reducer.MAX if isinstance(left, int | float) and isinstance(right, int | float):
            return max(left, right)
        case Reducer.APPEND if isinstance(left, list) and isinstance(right, list):
            left.extend(right)
            return left
        case Reducer.MERGE if isinstance(left, dict) and isinstance(right, dict):
            left.update(right)
            return left
        case _:
            return right
