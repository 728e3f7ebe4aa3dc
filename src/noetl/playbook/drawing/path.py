"""The path of one line, in the words of SVG."""

from collections.abc import Sequence
from math import hypot

import msgspec

CORNER = 12.0

Dot = tuple[float, float]


class Path(msgspec.Struct, frozen=True):
    """`label` is the middle of the label; `reach` are the leftmost and the rightmost x, the label included."""

    data: str
    label: Dot
    reach: tuple[float, float]
    has_head: bool = True


def number_text(value: float) -> str:
    text = f"{value:.1f}"
    return text.removesuffix(".0")


def at(dot: Dot) -> str:
    return f"{number_text(dot[0])} {number_text(dot[1])}"


def rounded(dots: Sequence[Dot]) -> str:
    """Straight from dot to dot, with round corners."""
    parts = [f"M{at(dots[0])}"]
    for before, corner, after in zip(dots, dots[1:], dots[2:], strict=False):
        parts.append(f"L{at(_towards(corner, before))}Q{at(corner)},{at(_towards(corner, after))}")
    return "".join([*parts, f"L{at(dots[-1])}"])


def _towards(start: Dot, end: Dot) -> Dot:
    """The dot at which a corner begins: never further than half of the way."""
    length = hypot(end[0] - start[0], end[1] - start[1])
    share = min(CORNER, length / 2) / length if length else 0.0
    return start[0] + (end[0] - start[0]) * share, start[1] + (end[1] - start[1]) * share
