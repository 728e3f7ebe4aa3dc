"""What ended iterations have given so far, kept by intervals of indexes so that memory follows gaps, not items.

Neighbouring intervals are merged in index order, so the finishing order never shows in the result.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence

import msgspec

from noetl.engine.reducing import combine, first, fits, needs, own_copy
from noetl.engine.reference import External, is_same, word_of
from noetl.playbook.model import Reducer

Values = Mapping[str, object]


class Write(msgspec.Struct, frozen=True):
    """A value and the index of the first iteration that wrote it."""

    value: object
    index: int


class Clash(msgspec.Struct, frozen=True, order=True):
    """The first iteration, `index`, whose write to `path` does not go with the others.

    `other` is the path, written before it, that it does not go with; or `message` says what is wrong.
    """

    index: int
    path: str
    other: str = ""
    message: str = ""


class Gathered(msgspec.Struct):
    """The part of one interval. `data` is None once it grew too large to be carried inline.

    `inner` are the keys that have a written key inside them. What was reduced is as the reducers keep it.
    """

    data: list[object] | None
    writes: dict[str, Write] = {}
    inner: dict[str, bool] = {}
    reduced: dict[str, object] = {}
    clash: Clash | None = None

    @property
    def conflict(self) -> str | None:
        """Why the writes of the iterations do not go together."""
        clash = self.clash
        if clash is None or clash.message:
            return clash.message if clash is not None else None
        early = self.writes[clash.other].index
        return (
            f"iteration {early} wrote `ctx.{clash.other}` and iteration {clash.index} wrote `ctx.{clash.path}`; "
            "declare a reducer under `loop.spec.policy.reduce`, or write to different keys"
        )


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

    @property
    def whole(self) -> Gathered:
        """What all iterations gave, once every index has ended."""
        return self.parts[0] if self.parts else Gathered([])


def part_of(
    index: int, data: list[object] | None, writes: Values, reduced: Values, reducers: Mapping[str, Reducer]
) -> Gathered:
    """What one iteration gave: its data, its writes, and what loops inside it have reduced already."""
    part = Gathered(data)
    if reduced:
        part.reduced = {path: own_copy(value) for path, value in reduced.items()}
    if not writes:
        return part
    for path, value in _folded(writes).items():
        reducer = reducers.get(path)
        if reducer is None:
            _write(part, path, Write(value, index))
        elif fits(reducer, value):
            part.reduced[path] = first(reducer, value)
        else:
            message = f"iteration {index} wrote {word_of(value)} to `ctx.{path}`, where {needs(reducer)}"
            part.clash = _earlier(part.clash, Clash(index, path, message=message))
    return part


def _folded(writes: Values) -> Values:
    """One iteration's writes with those inside a key that it wrote too made part of that key's value."""
    if len(writes) < 2:
        return writes
    folded: dict[str, object] = {}
    for path, value in writes.items():
        outer = next((key for key in _outer(path) if key in folded), None)
        if outer is None:
            folded[path] = value
        else:
            folded[outer] = _patched_inside(folded[outer], path.removeprefix(f"{outer}.").split("."), value)
    return folded


def _patched_inside(value: object, keys: Sequence[str], new: object) -> object:
    if not keys:
        return new
    if isinstance(value, External):
        path = ".".join(keys)
        kept = {key: known for key, known in value.patch.items() if not f"{key}.".startswith(f"{path}.")}
        return msgspec.structs.replace(value, patch={**kept, path: new})
    inside = dict(value) if isinstance(value, dict) else {}
    inside[keys[0]] = _patched_inside(inside.get(keys[0]), keys[1:], new)
    return inside


def _copied(part: Gathered) -> Gathered:
    data = list(part.data) if part.data is not None else None
    reduced = {path: own_copy(value) for path, value in part.reduced.items()}
    return Gathered(data, dict(part.writes), dict(part.inner), reduced, part.clash)


def _join(left: Gathered, right: Gathered, reducers: Mapping[str, Reducer]) -> None:
    if left.data is None or right.data is None:
        left.data = None
    else:
        left.data.extend(right.data)
    if right.clash is not None:
        left.clash = _earlier(left.clash, right.clash)
    if right.writes:
        for path, write in right.writes.items():
            _write(left, path, write)
    if right.reduced:
        known = left.reduced
        for path, value in right.reduced.items():
            known[path] = combine(reducers[path], known[path], value) if path in known else value


def _write(part: Gathered, path: str, write: Write) -> None:
    known = part.writes.get(path)
    if known is not None:
        if not is_same(known.value, write.value):
            part.clash = _earlier(part.clash, Clash(write.index, path, path))
        return
    other = _overlap(part, path)
    if other is not None:
        part.clash = _earlier(part.clash, Clash(write.index, path, other))
    part.writes[path] = write
    part.inner.update(dict.fromkeys(_outer(path), True))


def _overlap(part: Gathered, path: str) -> str | None:
    """A key that another iteration wrote around this one or inside it."""
    around = next((outer for outer in _outer(path) if outer in part.writes), None)
    if around is not None or path not in part.inner:
        return around
    return min(each for each in part.writes if each.startswith(f"{path}."))


def _outer(path: str) -> Sequence[str]:
    """The keys around one inside them, the outermost first."""
    if "." not in path:
        return ()
    parts = path.split(".")
    return [".".join(parts[:length]) for length in range(1, len(parts))]


def _earlier(one: Clash | None, other: Clash | None) -> Clash | None:
    if one is None or other is None:
        return one or other
    return min(one, other)
