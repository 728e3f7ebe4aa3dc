"""Puts boxes into layers: which lines run down, which run back up, and how far down each box stands."""

from collections.abc import Iterable, Sequence

import msgspec

Pair = tuple[int, int]
"""The source and the target of a line."""


class Layers(msgspec.Struct, frozen=True):
    """`layer` is the layer of each box; `back` are the lines, by number, that do not run down."""

    layer: tuple[int, ...]
    back: frozenset[int]


def assign_layers(count: int, pairs: Sequence[Pair], entry: int | None) -> Layers:
    """Longest paths from the entry, over the lines that close no cycle. Nothing stands above the entry."""
    outgoing: list[list[int]] = [[] for _ in range(count)]
    for number, (source, _) in enumerate(pairs):
        outgoing[source].append(number)
    back = _back_lines(count, pairs, outgoing, entry)
    forward = [pair for number, pair in enumerate(pairs) if number not in back]
    return Layers(tuple(_longest_paths(count, forward, entry)), frozenset(back))


def _back_lines(count: int, pairs: Sequence[Pair], outgoing: Sequence[Sequence[int]], entry: int | None) -> set[int]:
    """Lines to a box that is still open in a depth-first walk, and all lines into the entry."""
    back = {number for number, (_, target) in enumerate(pairs) if target == entry}
    roots = ([] if entry is None else [entry]) + list(range(count))
    seen: set[int] = set()
    for root in roots:
        if root not in seen:
            _walk(root, pairs, outgoing, seen, back)
    return back


def _walk(root: int, pairs: Sequence[Pair], outgoing: Sequence[Sequence[int]], seen: set[int], back: set[int]) -> None:
    seen.add(root)
    is_open = {root}
    path = [(root, iter(outgoing[root]))]
    while path:
        box, lines = path[-1]
        line = next(lines, None)
        if line is None:
            is_open.discard(box)
            path.pop()
            continue
        target = pairs[line][1]
        if target in is_open:
            back.add(line)
        elif target not in seen:
            seen.add(target)
            is_open.add(target)
            path.append((target, iter(outgoing[target])))


def _longest_paths(count: int, forward: Sequence[Pair], entry: int | None) -> list[int]:
    outgoing: list[list[int]] = [[] for _ in range(count)]
    missing = [0] * count
    for source, target in forward:
        outgoing[source].append(target)
        missing[target] += 1
    roots = [box for box in range(count) if not missing[box]]
    layer = [0] * count
    ready = list(roots)
    for box in ready:
        for target in outgoing[box]:
            layer[target] = max(layer[target], layer[box] + 1)
            missing[target] -= 1
            if not missing[target]:
                ready.append(target)
    _lower_roots(layer, outgoing, (root for root in roots if root != entry))
    return layer


def _lower_roots(layer: list[int], outgoing: Sequence[Sequence[int]], roots: Iterable[int]) -> None:
    """A box that nothing leads to stands right above the first that it leads to."""
    for root in roots:
        if outgoing[root]:
            layer[root] = min(layer[target] for target in outgoing[root]) - 1
