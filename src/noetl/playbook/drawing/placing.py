"""Gives every item its place: across as near to its neighbours as the order allows, down rank by rank."""

from collections.abc import Sequence
from itertools import pairwise

import msgspec

from noetl.playbook.drawing.ordering import Ranks
from noetl.playbook.drawing.ranks import Grid
from noetl.playbook.drawing.straight import separation, straighten

GAP_MIN, GAP_MAX = 25.0, 64.0
_SWEEPS = 14
_FAINT = 0.01

Neighbours = list[list[tuple[int, float]]]


class Band(msgspec.Struct, frozen=True, gc=False):
    """The height that a rank takes."""

    top: float
    bottom: float


class Places(msgspec.Struct, frozen=True):
    """`x` and `y` are the middles of the items."""

    x: tuple[float, ...]
    y: tuple[float, ...]
    bands: tuple[Band, ...]


def place_items(grid: Grid, ranks: Ranks) -> Places:
    x = _across(grid, ranks)
    bands = _bands(grid, x)
    y = [(bands[rank].top + bands[rank].bottom) / 2 for rank in grid.rank_of]
    return Places(tuple(round(each, 1) for each in x), tuple(round(each, 1) for each in y), bands)


def _across(grid: Grid, ranks: Ranks) -> list[float]:
    above: Neighbours = [[] for _ in grid.items]
    below: Neighbours = [[] for _ in grid.items]
    for upper, lower, weight in grid.links:
        above[lower].append((upper, weight))
        below[upper].append((lower, weight))
    both = [up + down for up, down in zip(above, below, strict=True)]
    x = [0.0] * len(grid.items)
    offsets = [_offsets(grid, rank) for rank in ranks]
    for rank, offset in zip(ranks, offsets, strict=True):
        middle = offset[-1] / 2 if offset else 0.0
        for item, shift in zip(rank, offset, strict=True):
            x[item] = shift - middle
    down, up = range(len(ranks)), range(len(ranks) - 1, -1, -1)
    for sweep in range(_SWEEPS):
        order = down if sweep % 2 == 0 else up
        neighbours = both if sweep >= 4 else above if order is down else below
        for number in order:
            _settle(ranks[number], offsets[number], neighbours, x)
    straighten(grid, ranks, x)
    return x


def _offsets(grid: Grid, rank: Sequence[int]) -> list[float]:
    """How far right of the first item each one stands at least."""
    offsets = [0.0][: len(rank)]
    for left, right in pairwise(rank):
        offsets.append(offsets[-1] + separation(grid, left, right))
    return offsets


def _settle(rank: Sequence[int], offsets: Sequence[float], neighbours: Neighbours, x: list[float]) -> None:
    """Least squares under the order: neighbours that would overlap are pooled and moved together."""
    pools: list[tuple[float, float, int]] = []
    for item, offset in zip(rank, offsets, strict=True):
        wish, weight = _wish(item, neighbours[item], x)
        pool = (wish - offset, weight, 1)
        while pools and pools[-1][0] > pool[0]:
            pool = _pooled(pools.pop(), pool)
        pools.append(pool)
    members = iter(zip(rank, offsets, strict=True))
    for start, _, size in pools:
        for _ in range(size):
            item, offset = next(members)
            x[item] = start + offset


def _wish(item: int, neighbours: Sequence[tuple[int, float]], x: Sequence[float]) -> tuple[float, float]:
    weight = sum(each for _, each in neighbours)
    if not weight:
        return x[item], _FAINT
    return sum(x[other] * each for other, each in neighbours) / weight, weight


def _pooled(one: tuple[float, float, int], other: tuple[float, float, int]) -> tuple[float, float, int]:
    weight = one[1] + other[1]
    return (one[0] * one[1] + other[0] * other[1]) / weight, weight, one[2] + other[2]


def _bands(grid: Grid, x: Sequence[float]) -> tuple[Band, ...]:
    """Wide shifts between two ranks get a higher gap, so that curves stay gentle."""
    shifts = [0.0] * len(grid.ranks)
    for upper, lower, _ in grid.links:
        into = grid.rank_of[lower]
        shifts[into] = max(shifts[into], abs(x[upper] - x[lower]))
    bands: list[Band] = []
    top = 0.0
    for number, rank in enumerate(grid.ranks):
        height = max((grid.items[item].height for item in rank), default=0.0)
        if number:
            top = bands[-1].bottom + min(GAP_MAX, max(GAP_MIN, shifts[number] * 0.16))
        bands.append(Band(top, top + height))
    return tuple(bands)
