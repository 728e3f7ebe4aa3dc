"""Orders the items of each rank so that few lines cross: barycentres, swept down and up, the best order kept."""

from bisect import bisect_right, insort
from collections.abc import Sequence
from itertools import pairwise

from noetl.playbook.drawing.ranks import Grid

SWEEPS = 8
SWEEPS_OF_LARGE = 2
LARGE = 4_000

Ranks = list[list[int]]


def order_ranks(grid: Grid) -> Ranks:
    above, below = _neighbours(grid)
    ranks = _first_order(grid, below)
    best, fewest = ranks, _crossings(ranks, below)
    sweeps = SWEEPS if len(grid.items) <= LARGE else SWEEPS_OF_LARGE
    for sweep in range(sweeps):
        if not fewest:
            break
        ranks = (
            _sweep(ranks, above, range(1, len(ranks)))
            if sweep % 2 == 0
            else _sweep(ranks, below, range(len(ranks) - 2, -1, -1))
        )
        crossings = _crossings(ranks, below)
        if crossings < fewest:
            best, fewest = ranks, crossings
    return best


def _neighbours(grid: Grid) -> tuple[list[list[int]], list[list[int]]]:
    above: list[list[int]] = [[] for _ in grid.items]
    below: list[list[int]] = [[] for _ in grid.items]
    for upper, lower, _ in grid.links:
        above[lower].append(upper)
        below[upper].append(lower)
    return above, below


def _first_order(grid: Grid, below: Sequence[Sequence[int]]) -> Ranks:
    """The order in which a walk in the order of the arcs comes to the items."""
    ranks: Ranks = [[] for _ in grid.ranks]
    seen: set[int] = set()
    roots = (item for rank in grid.ranks for item in rank)
    for root in roots:
        waiting = [root]
        while waiting:
            item = waiting.pop()
            if item not in seen:
                seen.add(item)
                ranks[grid.rank_of[item]].append(item)
                waiting.extend(reversed(below[item]))
    return ranks


def _sweep(ranks: Ranks, neighbours: Sequence[Sequence[int]], order: range) -> Ranks:
    ranks = [list(rank) for rank in ranks]
    place = {item: float(position) for rank in ranks for position, item in enumerate(rank)}
    for number in order:
        centres = {item: _centre(item, neighbours[item], place) for item in ranks[number]}
        ranks[number].sort(key=centres.__getitem__)
        place.update((item, float(position)) for position, item in enumerate(ranks[number]))
    return ranks


def _centre(item: int, neighbours: Sequence[int], place: dict[int, float]) -> float:
    if not neighbours:
        return place[item]
    return sum(place[each] for each in neighbours) / len(neighbours)


def _crossings(ranks: Ranks, below: Sequence[Sequence[int]]) -> int:
    total = 0
    for rank, next_rank in pairwise(ranks):
        place = {item: position for position, item in enumerate(next_rank)}
        passed: list[int] = []
        for item in rank:
            targets = sorted(place[target] for target in below[item])
            total += sum(len(passed) - bisect_right(passed, target) for target in targets)
            for target in targets:
                insort(passed, target)
    return total
