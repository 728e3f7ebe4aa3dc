"""A playbook as one SVG file: no scripts, no fonts of its own, light or dark as the reader prefers."""

from collections.abc import Sequence

import msgspec

from noetl.playbook.drawing.layers import assign_layers
from noetl.playbook.drawing.ordering import order_ranks
from noetl.playbook.drawing.path import Path, number_text
from noetl.playbook.drawing.paths import LOOP_REACH, LOOP_STEP, lay_lines
from noetl.playbook.drawing.placing import Places, place_items
from noetl.playbook.drawing.ranks import Grid, Item, Size, Wire, spread
from noetl.playbook.drawing.sketch import Box, Line, Sketch, Style, sketch
from noetl.playbook.drawing.style import STYLE
from noetl.playbook.drawing.text import bold_width, mono_width, sans_width
from noetl.playbook.model import Playbook, RouteMode

NAME_SIZE, DESC_SIZE, NOTE_SIZE, LABEL_SIZE, BADGE_SIZE = 14.0, 12.0, 11.0, 11.0, 10.0
LINE_HEIGHT = 18.0
PADDING_X, PADDING_Y = 18.0, 12.0
BOX_MIN = 132.0
LABEL_HEIGHT, LABEL_PADDING = 19.0, 7.0
BADGE_HEIGHT = 16.0
MARGIN = 28.0
SCALE_MIN = 0.6
"""A small window shows the whole drawing, smaller; below this scale nobody could read it, and it scrolls."""
ENTRY_ROOM = 40.0


_WEIGHTS = {Style.PLAIN: 1.0, Style.OTHERWISE: 1.0, Style.FAILURE: 0.1}
"""Failures stand aside and leave the straight way to the rest."""


class _Frame(msgspec.Struct, frozen=True):
    """The visible part of the plane."""

    left: float
    top: float
    width: float
    height: float


def svg(playbook: Playbook) -> str:
    drawing = sketch(playbook)
    loops = [line for line in drawing.lines if line.source == line.target]
    boxes = [_item(box, [line for line in loops if line.source == number]) for number, box in enumerate(drawing.boxes)]
    wires = [_wire(line) for line in drawing.lines]
    entry = next((number for number, box in enumerate(drawing.boxes) if box.is_entry), None)
    layers = assign_layers(len(boxes), [wire.pair for wire in wires], entry)
    grid = spread(boxes, wires, layers)
    places = place_items(grid, order_ranks(grid))
    paths = lay_lines(grid, places, wires)
    return _document(drawing, grid, places, paths)


def _item(box: Box, loops: Sequence[Line]) -> Item:
    lines = _lines(box)
    widest = max(_badge_width("join all") + 20 if box.joins else 0.0, *(width for _, _, width in lines))
    reach = max((_label_size(line).width for line in loops), default=0.0)
    return Item(
        width=round(max(BOX_MIN, widest + 2 * PADDING_X)),
        height=max(len(lines) * LINE_HEIGHT + 2 * PADDING_Y, len(loops) * LOOP_STEP * 2),
        after=LOOP_REACH + reach if loops else 0.0,
        above=BADGE_HEIGHT / 2 if box.joins else 0.0,
    )


def _lines(box: Box) -> list[tuple[str, str, float]]:
    """The lines of text in a box: class, text, width."""
    lines = [("name", box.name, bold_width(box.name, NAME_SIZE))]
    lines.append(("desc", box.desc, sans_width(box.desc, DESC_SIZE)))
    lines.append(("kinds", box.kinds, mono_width(box.kinds, NOTE_SIZE)))
    lines.append(("loop", box.loop, sans_width(box.loop, NOTE_SIZE)))
    return [line for line in lines if line[1]]


def _wire(line: Line) -> Wire:
    return Wire(
        (line.source, line.target), _label_size(line), (line.target, line.style is Style.FAILURE), _WEIGHTS[line.style]
    )


def _label_size(line: Line) -> Size:
    if not line.label:
        return Size(2.0, 0.0)
    return Size(round(mono_width(line.label, LABEL_SIZE) + 2 * LABEL_PADDING), LABEL_HEIGHT)


def _document(drawing: Sketch, grid: Grid, places: Places, paths: dict[int, Path]) -> str:
    frame = _frame(grid, places, paths)
    box = " ".join(number_text(each) for each in (frame.left, frame.top, frame.width, frame.height))
    size = f'width="{number_text(frame.width)}" height="{number_text(frame.height)}"'
    summary = _escaped(drawing.summary)
    lines = [(line, paths[number]) for number, line in enumerate(drawing.lines)]
    looks = f'{size} {_fitting(frame)} role="img" aria-label="{summary}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" {looks}>',
        f"<title>{summary}</title>",
        f"<style>{STYLE}</style>",
        f"<defs>{_head('head')}{_head('head-failure')}</defs>",
        f'<rect class="page" x="{number_text(frame.left)}" y="{number_text(frame.top)}" {size}/>',
        *(_line(line, path) for line, path in lines),
        *(
            _box(each, places.x[number], places.y[number], grid.items[number])
            for number, each in enumerate(drawing.boxes)
        ),
        *(_label(line, path) for line, path in lines if line.label),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _fitting(frame: _Frame) -> str:
    narrowest = round(frame.width * SCALE_MIN)
    return f'style="display:block;margin:0 auto;max-width:100%;min-width:{narrowest}px;height:auto"'


def _frame(grid: Grid, places: Places, paths: dict[int, Path]) -> _Frame:
    halves = [(places.x[number], grid.items[number].width / 2) for number in range(len(grid.items))]
    left = min([x - half for x, half in halves] + [path.reach[0] for path in paths.values()], default=0.0)
    right = max([x + half for x, half in halves] + [path.reach[1] for path in paths.values()], default=0.0)
    bottom = places.bands[-1].bottom if places.bands else 0.0
    top = -ENTRY_ROOM - MARGIN / 2
    return _Frame(left - MARGIN, top, right - left + 2 * MARGIN, bottom - top + MARGIN)


def _head(name: str) -> str:
    shape = f'<path class="{name}" d="M0 0L9 4.5L0 9L2 4.5Z"/>'
    return (
        f'<marker id="{name}" viewBox="0 0 9 9" refX="8.5" refY="4.5" markerWidth="9" markerHeight="9" '
        f'markerUnits="userSpaceOnUse" orient="auto">{shape}</marker>'
    )


def _line(line: Line, path: Path) -> str:
    head = "head-failure" if line.style is Style.FAILURE else "head"
    end = f' marker-end="url(#{head})"' if path.has_head else ""
    return (
        f'<g class="{line.style}"><path class="line" d="{path.data}"{end}>'
        f"<title>{_escaped(line.tooltip)}</title></path></g>"
    )


def _label(line: Line, path: Path) -> str:
    size = _label_size(line)
    x, y = path.label
    return (
        f'<g class="{line.style}"><g class="label"><title>{_escaped(line.tooltip)}</title>'
        f"{_rect(x, y, size.width, size.height, 5)}{_text('', x, y, line.label, LABEL_SIZE)}</g></g>"
    )


def _box(box: Box, x: float, y: float, item: Item) -> str:
    shade = _rect(x + 5, y + 5, item.width, item.height, 9, "shade") if box.loop else ""
    name = "box entry" if box.is_entry else "box"
    lines = _lines(box)
    first = y - (len(lines) - 1) * LINE_HEIGHT / 2
    sizes = {"name": NAME_SIZE, "desc": DESC_SIZE, "kinds": NOTE_SIZE, "loop": NOTE_SIZE}
    parts = [
        f'<g class="{name}"><title>{_escaped(box.tooltip)}</title>',
        shade,
        _rect(x, y, item.width, item.height, 9),
        *(
            _text(kind, x, first + number * LINE_HEIGHT, text, sizes[kind])
            for number, (kind, text, _) in enumerate(lines)
        ),
        "</g>",
        *_marks(box, x, y - item.height / 2, y + item.height / 2),
    ]
    return "".join(parts)


def _marks(box: Box, x: float, top: float, bottom: float) -> list[str]:
    """What stands on the border: start and join on top; below, the end or how the arcs are chosen."""
    marks = []
    if box.is_entry:
        marks.append(_start(x, top))
    if box.joins:
        marks.append(_badge("join", x, top, "join all"))
    if box.mode is not None:
        is_inclusive = box.mode is RouteMode.INCLUSIVE
        marks.append(_badge("inclusive" if is_inclusive else "exclusive", x, bottom, _mode_text(box.mode)))
    if box.is_leaf:
        centre = f'cx="{number_text(x)}" cy="{number_text(bottom)}"'
        marks.append(f'<circle class="end" {centre} r="6"/><circle class="end-dot" {centre} r="2.5"/>')
    return marks


def _mode_text(mode: RouteMode) -> str:
    return "all matches" if mode is RouteMode.INCLUSIVE else "first match"


def _start(x: float, top: float) -> str:
    y = top - ENTRY_ROOM + 8
    line = f"M{number_text(x)} {number_text(y)}V{number_text(top)}"
    return (
        f'<path class="line" d="{line}" marker-end="url(#head)"/>'
        f'<circle class="start" cx="{number_text(x)}" cy="{number_text(y)}" r="6"/>'
    )


def _badge_width(text: str) -> float:
    return round(bold_width(text, BADGE_SIZE) + 14)


def _badge(name: str, x: float, y: float, text: str) -> str:
    rect = _rect(x, y, _badge_width(text), BADGE_HEIGHT, BADGE_HEIGHT / 2)
    return f'<g class="badge {name}">{rect}{_text("", x, y, text, BADGE_SIZE)}</g>'


def _rect(x: float, y: float, width: float, height: float, radius: float, name: str = "") -> str:
    label = f'class="{name}" ' if name else ""
    left, top = number_text(x - width / 2), number_text(y - height / 2)
    size = f'width="{number_text(width)}" height="{number_text(height)}"'
    return f'<rect {label}x="{left}" y="{top}" {size} rx="{number_text(radius)}"/>'


def _text(name: str, x: float, y: float, text: str, size: float) -> str:
    """A line of text whose middle is at x, y; a third of the size lowers the baseline to where it looks centred."""
    label = f'class="{name}" ' if name else ""
    return f'<text {label}x="{number_text(x)}" y="{number_text(y + size * 0.35)}">{_escaped(text)}</text>'


def _escaped(text: str) -> str:
    """Text for an element or an attribute; control characters, which XML forbids, become blanks."""
    clean = "".join(character if character.isprintable() or character == "\n" else " " for character in text)
    return clean.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
