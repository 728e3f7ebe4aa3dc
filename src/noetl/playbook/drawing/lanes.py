"""Lays the lines that run back up, or too far down, in lanes beside the boxes they pass, short ones inside."""

from collections.abc import Sequence

import msgspec

from noetl.playbook.drawing.path import Dot, Path, rounded
from noetl.playbook.drawing.placing import Places
from noetl.playbook.drawing.ranks import Grid, Wire

LANE = 18.0
_TRACK_BELOW, _TRACK_ABOVE = 11.0, 16.0
_PORT = 14.0
_SIDE_PORT = 8.0
_DETOUR = 60.0


class _Lane(msgspec.Struct, frozen=True):
    """One possible lane: to the left (`side` -1) or to the right (1) of the ranks it passes."""

    side: int
    x: float
    cost: float


def lay_lanes(grid: Grid, places: Places, wires: Sequence[Wire]) -> dict[int, Path]:
    lanes = _Lanes(grid, places)
    inner_first = sorted(grid.sides, key=lambda number: (len(lanes.passed(wires[number])), number))
    return {number: lanes.lay(wires[number]) for number in inner_first}


class _Lanes:
    """`_edge` is how far each rank extends to each side, the lanes laid so far included."""

    def __init__(self, grid: Grid, places: Places) -> None:
        self._grid = grid
        self._places = places
        self._edge = {side: [self._extent(rank, side) for rank in grid.ranks] for side in (1, -1)}
        self._outer = {side: {self._outermost(rank, side) for rank in grid.ranks[::2]} for side in (1, -1)}

    def _extent(self, rank: Sequence[int], side: int) -> float:
        """Measured outwards, so that on either side more means further out."""
        items = self._grid.items
        widths = ((items[item].width / 2 + (items[item].after if side > 0 else 0.0), item) for item in rank)
        return max((self._places.x[item] * side + width for width, item in widths), default=0.0)

    def _outermost(self, rank: Sequence[int], side: int) -> int | None:
        boxes = (item for item in rank if item < self._grid.boxes)
        return max(boxes, key=lambda item: self._places.x[item] * side, default=None)

    def passed(self, wire: Wire) -> range:
        """The ranks from one end to the other."""
        ends = sorted(self._grid.rank_of[box] for box in wire.pair)
        return range(ends[0], ends[1] + 1)

    def lay(self, wire: Wire) -> Path:
        source, target = wire.pair
        lane = min((self._lane(wire, side) for side in (1, -1)), key=lambda each: each.cost)
        ranks, half = self.passed(wire), wire.label.width / 2
        middle = ranks[len(ranks) // 2]
        for rank in ranks:
            self._edge[lane.side][rank] = lane.x * lane.side
        self._edge[lane.side][middle] += half
        dots = [*self._leave(source, lane), *reversed(self._enter(target, lane))]
        band = self._places.bands[middle]
        across = [lane.x - half, lane.x + half, *(dot[0] for dot in dots)]
        return Path(rounded(dots), (lane.x, (band.top + band.bottom) / 2), (min(across), max(across)))

    def _lane(self, wire: Wire, side: int) -> _Lane:
        ranks = self.passed(wire)
        edge = self._edge[side]
        beside_boxes = max(edge[rank] for rank in ranks) + LANE
        beside_label = edge[ranks[len(ranks) // 2]] + wire.label.width / 2 + LANE / 2
        x = max(beside_boxes, beside_label) * side
        cost = sum(abs(x - self._places.x[box]) for box in wire.pair)
        return _Lane(side, x, cost + _DETOUR * sum(not self._is_free(box, side) for box in wire.pair))

    def _is_free(self, box: int, side: int) -> bool:
        """Whether nothing stands between the box and the lane."""
        has_loop = side > 0 and self._grid.items[box].after > 0
        return box in self._outer[side] and not has_loop

    def _leave(self, box: int, lane: _Lane) -> list[Dot]:
        """From the side of the box, or from its bottom and below its neighbours."""
        x, y = self._places.x[box], self._places.y[box]
        if self._is_free(box, lane.side):
            y += _SIDE_PORT
            return [(x + lane.side * self._grid.items[box].width / 2, y), (lane.x, y)]
        track = self._places.bands[self._grid.rank_of[box]].bottom + _TRACK_BELOW
        bottom = y + self._grid.items[box].height / 2
        return [(x + lane.side * _PORT, bottom), (x + lane.side * _PORT, track), (lane.x, track)]

    def _enter(self, box: int, lane: _Lane) -> list[Dot]:
        """Into the side of the box, or over its neighbours into its top. From the box outwards."""
        x, y = self._places.x[box], self._places.y[box]
        if self._is_free(box, lane.side):
            y -= _SIDE_PORT
            return [(x + lane.side * self._grid.items[box].width / 2, y), (lane.x, y)]
        track = self._places.bands[self._grid.rank_of[box]].top - _TRACK_ABOVE
        top = y - self._grid.items[box].height / 2
        return [(x + lane.side * _PORT, top), (x + lane.side * _PORT, track), (lane.x, track)]
