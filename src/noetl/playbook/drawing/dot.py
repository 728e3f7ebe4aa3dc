"""A playbook as a Graphviz digraph. Ids are numbers; text is quoted, so that any name and any guard survives."""

from noetl.playbook.drawing.sketch import Box, Line, Style, sketch
from noetl.playbook.model import Playbook, RouteMode

_HEAD = (
    '  graph [rankdir=TB, nodesep=0.4, ranksep=0.5, fontname="Helvetica"]',
    '  node [shape=box, style="rounded,filled", fillcolor="#f8fafc", color="#94a3b8"]',
    '  node [fontname="Helvetica", fontsize=11]',
    '  edge [color="#64748b", fontname="Helvetica", fontsize=9, arrowsize=0.7]',
)


def dot(playbook: Playbook) -> str:
    drawing = sketch(playbook)
    lines = [f"digraph {_quoted(drawing.title)} {{", *_HEAD]
    lines.extend(_node(number, box) for number, box in enumerate(drawing.boxes))
    for number, box in enumerate(drawing.boxes):
        if box.is_entry:
            lines.append('  start [shape=point, width=0.14, color="#2563eb", fillcolor="#2563eb"]')
            lines.append(f"  start -> s{number}")
    lines.extend(_edge(line) for line in drawing.lines)
    return "\n".join([*lines, "}"]) + "\n"


def _node(number: int, box: Box) -> str:
    notes = [box.desc, box.kinds, box.loop, "join all" if box.joins else "", _mode(box)]
    label = "\n".join([box.name, *(note for note in notes if note)])
    extra = ', style="filled", peripheries=2' if box.loop else ""
    extra += ", penwidth=2" if box.is_entry else ""
    extra += ', shape=box, color="#2563eb"' if box.mode is RouteMode.INCLUSIVE else ""
    extra += ', style="rounded,filled,bold"' if box.is_leaf and not box.loop else ""
    return f"  s{number} [label={_quoted(label)}, tooltip={_quoted(box.tooltip)}{extra}]"


def _mode(box: Box) -> str:
    return "" if box.mode is None else "all matches" if box.mode is RouteMode.INCLUSIVE else "first match"


def _edge(line: Line) -> str:
    label = f"label={_quoted(' ' + line.label + ' ')}, " if line.label else ""
    colour = ', style=dashed, color="#dc2626", fontcolor="#dc2626"' if line.style is Style.FAILURE else ""
    return f"  s{line.source} -> s{line.target} [{label}tooltip={_quoted(line.tooltip)}{colour}]"


def _quoted(text: str) -> str:
    """A quoted string: a backslash would start an escape of Graphviz, an ampersand an entity."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;").replace("\n", "\\n")
    return f'"{escaped}"'
