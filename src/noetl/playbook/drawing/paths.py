"""Lays the lines between placed items: curves from rank to rank, loops at a box, and lanes for the rest."""

from collections.abc import Sequence

from noetl.playbook.drawing.lanes import lay_lanes
from noetl.playbook.drawing.path import Path, at, number_text
from noetl.playbook.drawing.placing import Places
from noetl.playbook.drawing.ranks import Grid, Wire

LOOP_REACH = 34.0
LOOP_STEP = 22.0


def lay_lines(grid: Grid, places: Places, wires: Sequence[Wire]) -> dict[int, Path]:
    paths = {number: _down(grid, places, chain) for number, chain in grid.chains.items()}
    loops: dict[int, int] = {}
    for number, wire in enumerate(wires):
        source, target = wire.pair
        if source == target:
            turn = loops.get(source, 0)
            loops[source] = turn + 1
            paths[number] = _loop(grid, places, wire, turn)
    return paths | lay_lanes(grid, places, wires)


def _down(grid: Grid, places: Places, chain: Sequence[int]) -> Path:
    """Straight through each rank, curved in the gaps between them."""
    source, target = chain[0], chain[-1]
    start = (places.x[source], places.y[source] + grid.items[source].height / 2)
    parts = [f"M{at(start)}", f"V{number_text(places.bands[grid.rank_of[source]].bottom)}"]
    for upper, lower in zip(chain, chain[1:], strict=False):
        parts.append(_curve(grid, places, upper, lower))
        bottom = places.bands[grid.rank_of[lower]].bottom
        end = places.y[target] - grid.items[target].height / 2
        parts.append(f"V{number_text(end if lower == target else bottom)}")
    across = [places.x[item] for item in chain]
    return Path("".join(parts), (places.x[chain[1]], places.y[chain[1]]), (min(across), max(across)))


def _curve(grid: Grid, places: Places, upper: int, lower: int) -> str:
    top, bottom = places.bands[grid.rank_of[upper]].bottom, places.bands[grid.rank_of[lower]].top
    if places.x[upper] == places.x[lower]:
        return f"V{number_text(bottom)}"
    middle = (top + bottom) / 2
    dots = ((places.x[upper], middle), (places.x[lower], middle), (places.x[lower], bottom))
    return "C" + ",".join(at(dot) for dot in dots)


def _loop(grid: Grid, places: Places, wire: Wire, turn: int) -> Path:
    """A loop at the right side of its box; further loops stand below."""
    box = wire.pair[0]
    side, y = places.x[box] + grid.items[box].width / 2, places.y[box] + turn * LOOP_STEP
    out = side + LOOP_REACH
    data = f"M{at((side, y - 9))}C{at((out, y - 18))},{at((out, y + 18))},{at((side, y + 9))}"
    label = (side + LOOP_REACH * 0.75 + wire.label.width / 2, y)
    return Path(data, label, (side, label[0] + wire.label.width / 2))
