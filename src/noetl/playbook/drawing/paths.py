"""Lays the lines between placed items: curves from rank to rank, loops at a box, and lanes for the rest."""

from collections.abc import Sequence
from itertools import pairwise
from math import inf

import msgspec

from noetl.playbook.drawing.lanes import lay_lanes
from noetl.playbook.drawing.path import Path, at, number_text
from noetl.playbook.drawing.placing import Places
from noetl.playbook.drawing.ranks import Grid, Wire

_ROUNDNESS = 0.45
_SIDEWAYS_MAX = 12.0
LOOP_REACH = 34.0
LOOP_STEP = 22.0


def lay_lines(grid: Grid, places: Places, wires: Sequence[Wire]) -> dict[int, Path]:
    drawn: set[tuple[int, int]] = set()
    paths = {number: _down(grid, places, chain, drawn) for number, chain in grid.chains.items()}
    loops: dict[int, int] = {}
    for number, wire in enumerate(wires):
        source, target = wire.pair
        if source == target:
            turn = loops.get(source, 0)
            loops[source] = turn + 1
            paths[number] = _loop(grid, places, wire, turn)
    return paths | lay_lanes(grid, places, wires)


class _Pass(msgspec.Struct, frozen=True):
    """Where a line goes through a rank: straight down from `top` to `bottom`, or freely where they are the same.

    `lean` is how far it may move sideways for each unit down."""

    x: float
    top: float
    bottom: float
    lean: float


def _down(grid: Grid, places: Places, chain: Sequence[int], drawn: set[tuple[int, int]]) -> Path:
    """From rank to rank, down to where the line meets one that was drawn before and goes the same way on."""
    links = list(pairwise(chain))
    new = next((position for position, link in enumerate(links) if link in drawn), len(links))
    drawn.update(links)
    passes = [_pass(grid, places, item, is_start=not number) for number, item in enumerate(chain[: new + 1])]
    parts = [f"M{at((passes[0].x, passes[0].top))}"]
    slopes = _slopes(passes)
    for number, (upper, lower) in enumerate(pairwise(passes)):
        parts.append(_straight(upper.top, upper.bottom))
        parts.append(_curve(upper, lower, slopes[number], slopes[number + 1]))
    is_whole = new == len(links)
    end = passes[-1]
    parts.append(_straight(end.top, end.bottom) if is_whole else "")
    across = [places.x[item] for item in chain]
    label = (places.x[chain[1]], places.y[chain[1]])
    return Path("".join(parts), label, (min(across), max(across)), has_head=is_whole)


def _pass(grid: Grid, places: Places, item: int, is_start: bool) -> _Pass:
    x, y, height = places.x[item], places.y[item], grid.items[item].height
    band = places.bands[grid.rank_of[item]]
    if item < grid.boxes and is_start:
        return _Pass(x, y + height / 2, band.bottom, 0.0)
    if item < grid.boxes:
        end = y - height / 2 - grid.items[item].above
        return _Pass(x, min(band.top, end), end, 0.0)
    if height or grid.rank_of[item] % 2 == 0:
        return _Pass(x, band.top, band.bottom, 0.0)
    room = (band.bottom - band.top) / 2
    return _Pass(x, y, y, _SIDEWAYS_MAX / room if room else inf)


def _slopes(passes: Sequence[_Pass]) -> list[float]:
    """Sideways for each unit down, at each pass: from the one before to the one after, never out and back."""
    slopes = [0.0] * len(passes)
    for number in range(1, len(passes) - 1):
        before, here, after = passes[number - 1 : number + 2]
        if (here.x - before.x) * (after.x - here.x) > 0:
            slope = (after.x - before.x) / (after.top - before.bottom)
            slopes[number] = max(-here.lean, min(here.lean, slope))
    return slopes


def _straight(top: float, bottom: float) -> str:
    return f"V{number_text(bottom)}" if bottom - top >= 0.1 else ""


def _curve(upper: _Pass, lower: _Pass, leaving: float, coming: float) -> str:
    if upper.x == lower.x and not leaving and not coming:
        return f"V{number_text(lower.top)}"
    reach = (lower.top - upper.bottom) * _ROUNDNESS
    first = (upper.x + leaving * reach, upper.bottom + reach)
    second = (lower.x - coming * reach, lower.top - reach)
    return f"C{at(first)},{at(second)},{at((lower.x, lower.top))}"


def _loop(grid: Grid, places: Places, wire: Wire, turn: int) -> Path:
    """A loop at the right side of its box; further loops stand below."""
    box = wire.pair[0]
    side, y = places.x[box] + grid.items[box].width / 2, places.y[box] + turn * LOOP_STEP
    out = side + LOOP_REACH
    data = f"M{at((side, y - 9))}C{at((out, y - 18))},{at((out, y + 18))},{at((side, y + 9))}"
    label = (side + LOOP_REACH * 0.75 + wire.label.width / 2, y)
    return Path(data, label, (side, label[0] + wire.label.width / 2))
