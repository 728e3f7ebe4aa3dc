"""Which step runs could have run in another order, and what of the result that could have changed."""

from itertools import combinations

from tests.simulation.model.values import UNSURE, Place, Raced, is_unsure, overlap
from tests.simulation.model.workflow import TANGLED, Node


def ancestors(nodes: list[Node]) -> list[frozenset[int]]:
    """For each arrival, those that come before it in every order.

    Arrivals at one step that are in no order may change places and take each other's number: what each of them has
    behind it is only what all of them have.
    """
    found = _followed(nodes, [frozenset()] * len(nodes))
    while True:
        shared = _shared(nodes, found)
        after = _followed(nodes, shared)
        if after == found:
            return found
        found = after


def _followed(nodes: list[Node], limits: list[frozenset[int]]) -> list[frozenset[int]]:
    found: list[frozenset[int]] = []
    for index, node in enumerate(nodes):
        own = frozenset(node.sources).union(*(found[source] for source in node.sources))
        found.append(own & limits[index] if limits[index] else own)
    return found


def _shared(nodes: list[Node], found: list[frozenset[int]]) -> list[frozenset[int]]:
    """Each one's ancestors, cut down to those that all its rivals have. An arrival is its own, so none is empty."""
    shared = [found[index] | {index} for index in range(len(nodes))]
    for one, other in combinations(range(len(nodes)), 2):
        if nodes[one].step == nodes[other].step and not _in_order(found, one, other):
            shared[one] &= found[other] | {one}
            shared[other] &= found[one] | {other}
    return shared


def _in_order(found: list[frozenset[int]], one: int, other: int) -> bool:
    return one in found[other] or other in found[one]


def conflicts(nodes: list[Node]) -> tuple[frozenset[Place], frozenset[Place]]:
    """What is read by one and written by another in no order; and what two write in no order."""
    found = ancestors(nodes)
    read: set[Place] = set()
    written: set[Place] = set()
    for one, other in combinations(range(len(nodes)), 2):
        if _in_order(found, one, other):
            continue
        read |= _met(nodes[one], nodes[other]) | _met(nodes[other], nodes[one])
        clashes = _clashes(nodes[one], nodes[other])
        written |= {place for place, _ in clashes}
        read |= {TANGLED for place, there in clashes if place != there}
        if nodes[one].step == nodes[other].step:
            read |= _events(nodes[one], nodes[other])
    return frozenset(read), frozenset(written)


def candidates(nodes: list[Node], places: frozenset[Place], known: Raced) -> Raced:
    """Every value that was written to a place, or an unsure one where something around it or inside it was."""
    found: dict[Place, tuple[object, ...]] = {}
    for place in sorted(places):
        values = {repr(value): value for value in known.get(place, ())}
        written = [(there, value) for node in nodes for there, value in node.writes if overlap(place, there)]
        values |= {repr(value): value if there == place else UNSURE for there, value in written}
        found[place] = tuple(values.values())
    return found


def _met(reader: Node, writer: Node) -> set[Place]:
    return {place for place in reader.reads for written, _ in writer.writes if overlap(place, written)}


def _clashes(one: Node, other: Node) -> set[tuple[Place, Place]]:
    """The shorter place first: a key that one wrote, and the same or one inside it that the other wrote."""
    return {
        (min(place, there, key=len), max(place, there, key=len))
        for place, value in one.writes
        for there, another in other.writes
        if overlap(place, there) and not (place == there and value == another and not is_unsure(value))
    }


def _events(one: Node, other: Node) -> set[Place]:
    """Rivals at one step take each other's event; that shows where they read what differs."""
    fields = {place for place in one.reads | other.reads if place[0] == "event"}
    raced = {place for place in fields if _told(one, place) != _told(other, place)}
    is_alike = [token.args for token in one.tokens] == [token.args for token in other.tokens]
    return raced if is_alike else raced | {("args", one.step)}


def _told(node: Node, place: Place) -> list[object]:
    return [token.event.get(place[2]) if len(place) > 2 else token.event for token in node.tokens]
