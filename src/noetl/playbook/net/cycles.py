"""Graph algorithms on ways between numbered spots: components, reachability and the traps nothing leads out of.

All run in time linear in the ways and without recursion, so that a chain of ten thousand steps is no problem.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence

import msgspec

from noetl.playbook.net.truth import Truth

Successors = Callable[[int], Iterable[int]]


class Way(msgspec.Struct, frozen=True, gc=False):
    """One way on from a spot. A target that is no spot ends the walk."""

    target: int
    taken: Truth


class Spot(msgspec.Struct, frozen=True, gc=False):
    """A place a walk comes to. `success` are the rows in which nothing went wrong there."""

    ways: tuple[Way, ...]
    success: int


def reachable(start: Iterable[int], successors: Successors) -> set[int]:
    seen = set(start)
    waiting = deque(seen)
    while waiting:
        for target in successors(waiting.popleft()):
            if target not in seen:
                seen.add(target)
                waiting.append(target)
    return seen


def components(nodes: Iterable[int], successors: Successors) -> list[list[int]]:
    """Tarjan's strongly connected components, those that others lead to first."""
    search = _Search(successors)
    for node in nodes:
        if node not in search.number:
            search.explore(node)
    return search.found


class _Search:
    """The state of one run of Tarjan's algorithm, with a stack of its own in place of recursion."""

    def __init__(self, successors: Successors) -> None:
        self.number: dict[int, int] = {}
        self.found: list[list[int]] = []
        self._successors = successors
        self._lowest: dict[int, int] = {}
        self._open: list[int] = []
        self._is_open: set[int] = set()

    def explore(self, root: int) -> None:
        path = [(root, iter(self._enter(root)))]
        while path:
            node, targets = path[-1]
            target = next((each for each in targets if self._is_new(node, each)), None)
            if target is not None:
                path.append((target, iter(self._enter(target))))
                continue
            path.pop()
            if path:
                parent = path[-1][0]
                self._lowest[parent] = min(self._lowest[parent], self._lowest[node])
            if self._lowest[node] == self.number[node]:
                self._close(node)

    def _enter(self, node: int) -> Iterable[int]:
        self.number[node] = self._lowest[node] = len(self.number)
        self._open.append(node)
        self._is_open.add(node)
        return self._successors(node)

    def _is_new(self, node: int, target: int) -> bool:
        if target not in self.number:
            return True
        if target in self._is_open:
            self._lowest[node] = min(self._lowest[node], self.number[target])
        return False

    def _close(self, node: int) -> None:
        position = len(self._open) - 1
        while self._open[position] != node:
            position -= 1
        component = self._open[position:]
        del self._open[position:]
        self._is_open.difference_update(component)
        self.found.append(sorted(component))


def traps(spots: Sequence[Spot], is_inside: Callable[[int], bool]) -> list[list[int]]:
    """Cycles that no success leads out of: from every spot of them each success row certainly goes on inside.

    Of cycles that lead into one another only the last is given: curing it cures the others.
    """
    inside = _trapped(spots, is_inside)

    def onward(index: int) -> list[int]:
        spot = spots[index]
        return [way.target for way in spot.ways if way.target in inside and way.taken.may & spot.success]

    found = []
    for component in components(sorted(inside), onward):
        members = set(component)
        targets = {target for index in component for target in onward(index)}
        if targets <= members:
            found.append(component)
    return found


def _trapped(spots: Sequence[Spot], is_inside: Callable[[int], bool]) -> set[int]:
    """The largest set of spots that a success never leaves."""
    before: list[list[int]] = [[] for _ in spots]
    for index, spot in enumerate(spots):
        for way in spot.ways:
            if way.target < len(spots):
                before[way.target].append(index)
    inside = {index for index in range(len(spots)) if is_inside(index)}
    waiting = deque(sorted(inside))
    while waiting:
        index = waiting.popleft()
        if index in inside and not _stays(spots[index], inside):
            inside.discard(index)
            waiting.extend(before[index])
    return inside


def _stays(spot: Spot, inside: set[int]) -> bool:
    certain = 0
    for way in spot.ways:
        if way.target in inside:
            certain |= way.taken.must
    return spot.success != 0 and not spot.success & ~certain
