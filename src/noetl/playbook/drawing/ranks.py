"""Spreads boxes and lines over ranks: boxes on even ranks, labels on odd ones, and bends where a line passes by.

Lines that run far to the same box in the same style share their bends: they join into one trunk.
"""

from collections.abc import Sequence
from itertools import pairwise

import msgspec

from noetl.playbook.drawing.layers import Layers, Pair

BENDS_MAX = 12_000
"""With more bends the longest lines run down the sides instead."""

_STRAIGHT = 8.0
_LOOSE = 0.4
"""How much less a long line draws its ends than a short one."""


class Size(msgspec.Struct, frozen=True, gc=False):
    width: float
    height: float


class Wire(msgspec.Struct, frozen=True):
    """A line to be laid: `trunk` is the same for lines that may join on their way; `weight` is how much it
    draws its ends to stand above one another."""

    pair: Pair
    label: Size
    trunk: tuple[int, bool]
    weight: float = 1.0


class Item(msgspec.Struct, frozen=True, gc=False):
    """Something with a place on a rank. `after` is what stands to its right, such as a line to itself; `above`
    what stands out of its top."""

    width: float
    height: float
    after: float = 0.0
    above: float = 0.0


class Grid(msgspec.Struct, frozen=True):
    """`ranks` hold item numbers; the first items, as many as there are `boxes`, are the boxes.

    `links` join items of neighbouring ranks with a weight; `chains` are the items each line runs through, ends
    included; `sides` are the lines that run outside.
    """

    boxes: int
    items: tuple[Item, ...]
    ranks: tuple[tuple[int, ...], ...]
    rank_of: tuple[int, ...]
    links: tuple[tuple[int, int, float], ...]
    chains: dict[int, tuple[int, ...]]
    sides: tuple[int, ...]


def spread(boxes: Sequence[Item], wires: Sequence[Wire], layers: Layers) -> Grid:
    sides = _sides(wires, layers)
    builder = _Builder(boxes, layers)
    for number, wire in enumerate(wires):
        if wire.pair[0] != wire.pair[1] and number not in sides:
            builder.lay(number, wire)
    loose = tuple(number for number in sorted(sides) if wires[number].pair[0] != wires[number].pair[1])
    return builder.grid(loose)


def _sides(wires: Sequence[Wire], layers: Layers) -> set[int]:
    """Lines that run up, and the longest of the others as long as there are too many bends."""
    sides = set(layers.back)
    lengths = []
    for number, wire in enumerate(wires):
        source, target = wire.pair
        if number not in sides:
            lengths.append((layers.layer[target] - layers.layer[source], number))
    lengths.sort()
    bends = 0
    for length, number in lengths:
        bends += 2 * length - 1
        if bends > BENDS_MAX and length > 1:
            sides.add(number)
    return sides


class _Builder:
    """Collects items and links while the lines are laid."""

    def __init__(self, boxes: Sequence[Item], layers: Layers) -> None:
        self._layers = layers
        self._items = list(boxes)
        self._rank_of = [2 * layer for layer in layers.layer]
        self._links: dict[tuple[int, int], float] = {}
        self._chains: dict[int, tuple[int, ...]] = {}
        self._trunks: dict[tuple[tuple[int, bool], int], int] = {}

    def lay(self, number: int, wire: Wire) -> None:
        source, target = wire.pair
        first, last = self._rank_of[source] + 1, self._rank_of[target]
        label = self._add(Item(wire.label.width, wire.label.height), first)
        chain = [source, label, *(self._bend(wire.trunk, rank) for rank in range(first + 1, last)), target]
        self._chains[number] = tuple(chain)
        is_short = len(chain) == 3
        ends = (0, 1, len(chain) - 2)
        for position, (upper, lower) in enumerate(pairwise(chain)):
            pull = wire.weight if is_short else wire.weight * _LOOSE if position in ends else _STRAIGHT
            self._links[upper, lower] = max(self._links.get((upper, lower), 0.0), pull)

    def _bend(self, trunk: tuple[int, bool], rank: int) -> int:
        if (trunk, rank) not in self._trunks:
            self._trunks[trunk, rank] = self._add(Item(2.0, 0.0), rank)
        return self._trunks[trunk, rank]

    def _add(self, item: Item, rank: int) -> int:
        self._items.append(item)
        self._rank_of.append(rank)
        return len(self._items) - 1

    def grid(self, sides: tuple[int, ...]) -> Grid:
        ranks: list[list[int]] = [[] for _ in range(max(self._rank_of, default=-1) + 1)]
        for item, rank in enumerate(self._rank_of):
            ranks[rank].append(item)
        return Grid(
            boxes=len(self._layers.layer),
            items=tuple(self._items),
            ranks=tuple(tuple(rank) for rank in ranks),
            rank_of=tuple(self._rank_of),
            links=tuple((upper, lower, weight) for (upper, lower), weight in self._links.items()),
            chains=self._chains,
            sides=sides,
        )
