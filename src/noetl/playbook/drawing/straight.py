"""Straightens what is nearly straight: items that follow one another get one x, as far as their neighbours allow."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from noetl.playbook.drawing.ranks import Grid

BETWEEN_BOXES = 36.0
BETWEEN_OTHERS = 18.0
_ROUNDS = 3
_SPREAD_MAX = 90.0


def separation(grid: Grid, left: int, right: int) -> float:
    """The least distance between the middles of two neighbours."""
    one, other = grid.items[left], grid.items[right]
    are_boxes = left < grid.boxes and right < grid.boxes
    return one.width / 2 + one.after + (BETWEEN_BOXES if are_boxes else BETWEEN_OTHERS) + other.width / 2


def straighten(grid: Grid, ranks: Sequence[Sequence[int]], x: list[float]) -> None:
    rows = _Rows(grid, ranks, x)
    chains = list(_chains(grid, x))
    for _ in range(_ROUNDS):
        for chain in chains:
            rows.straighten(chain)


class _Rows:
    """The ranks with the x of their items, which it changes without ever changing the order."""

    def __init__(self, grid: Grid, ranks: Sequence[Sequence[int]], x: list[float]) -> None:
        self._grid = grid
        self._x = x
        self._left: dict[int, int] = {}
        self._right: dict[int, int] = {}
        for rank in ranks:
            for left, right in pairwise(rank):
                self._left[right] = left
                self._right[left] = right

    def straighten(self, chain: Sequence[int]) -> None:
        run: list[int] = []
        room = (-float("inf"), float("inf"))
        for item in chain:
            lowest, highest = self._room(item)
            shared = (max(room[0], lowest), min(room[1], highest))
            if run and (shared[0] > shared[1] or not self._is_near(run, item)):
                self._align(run, room)
                run, shared = [], (lowest, highest)
            run.append(item)
            room = shared
        self._align(run, room)

    def _room(self, item: int) -> tuple[float, float]:
        lowest, highest = -float("inf"), float("inf")
        if item in self._left:
            lowest = self._x[self._left[item]] + separation(self._grid, self._left[item], item)
        if item in self._right:
            highest = self._x[self._right[item]] - separation(self._grid, item, self._right[item])
        return min(lowest, self._x[item]), max(highest, self._x[item])

    def _is_near(self, run: Sequence[int], item: int) -> bool:
        return abs(self._x[run[0]] - self._x[item]) <= _SPREAD_MAX

    def _align(self, run: Sequence[int], room: tuple[float, float]) -> None:
        boxes = [item for item in run if item < self._grid.boxes]
        chosen = boxes or run
        middle = sum(self._x[item] for item in chosen) / len(chosen)
        for item in run:
            self._x[item] = min(max(middle, room[0]), room[1])


def _chains(grid: Grid, x: Sequence[float]) -> Iterator[list[int]]:
    """Items of which each draws the other most, in runs from top to bottom."""
    above: list[list[tuple[float, int]]] = [[] for _ in grid.items]
    below: list[list[tuple[float, int]]] = [[] for _ in grid.items]
    for upper, lower, weight in grid.links:
        above[lower].append((weight, upper))
        below[upper].append((weight, lower))
    closest_above = [_closest(links, x) for links in above]
    closest_below = [_closest(links, x) for links in below]
    for item in range(len(grid.items)):
        parent = closest_above[item]
        if parent is not None and closest_below[parent] == item:
            continue
        chain, last = [item], item
        while (child := closest_below[last]) is not None and closest_above[child] == last:
            chain.append(child)
            last = child
        if len(chain) > 1:
            yield chain


def _closest(links: Sequence[tuple[float, int]], x: Sequence[float]) -> int | None:
    """The item at the heaviest link: of several the one in the middle, of an even number none."""
    heaviest = max((weight for weight, _ in links), default=0.0)
    items = sorted((item for weight, item in links if weight == heaviest), key=lambda item: x[item])
    return items[len(items) // 2] if len(items) % 2 else None
