"""A playbook as a Mermaid flowchart. Ids are numbers, so that a step may be called `end`."""

from noetl.playbook.drawing.sketch import Box, Line, Style, sketch
from noetl.playbook.model import Playbook, RouteMode

_PLAIN = frozenset(" _.,-=/+*()'…×›→")
_CLASSES = (
    "classDef entry stroke-width:3px",
    "classDef inclusive stroke:#2563eb",
)


def mermaid(playbook: Playbook) -> str:
    drawing = sketch(playbook)
    lines = ["flowchart TD", f"  accTitle: {_escaped(drawing.title)}", f"  accDescr: {_escaped(drawing.summary)}"]
    if any(box.is_entry for box in drawing.boxes):
        lines.append("  start(( ))")
    lines.extend(_node(number, box) for number, box in enumerate(drawing.boxes))
    lines.extend(f"  start --> s{number}" for number, box in enumerate(drawing.boxes) if box.is_entry)
    lines.extend(_edge(line) for line in drawing.lines)
    lines.extend(f"  {line}" for line in _CLASSES)
    return "\n".join([*lines, *_failures(drawing.lines, any(box.is_entry for box in drawing.boxes))]) + "\n"


def _node(number: int, box: Box) -> str:
    words = [f"<b>{_escaped(box.name)}</b>", *(_escaped(word) for word in _notes(box))]
    opening, closing = _brackets(box)
    return f'  s{number}{opening}"{"<br/>".join(words)}"{closing}{_class(box)}'


def _notes(box: Box) -> list[str]:
    notes = [box.desc, box.kinds, box.loop]
    notes.append("join all" if box.joins else "")
    notes.append("all matches" if box.mode is RouteMode.INCLUSIVE else "")
    return [note for note in notes if note]


def _brackets(box: Box) -> tuple[str, str]:
    if box.loop:
        return "[[", "]]"
    if box.is_leaf:
        return "([", "])"
    return ("{{", "}}") if box.joins else ("[", "]") if box.kinds else ("(", ")")


def _class(box: Box) -> str:
    if box.is_entry:
        return ":::entry"
    return ":::inclusive" if box.mode is RouteMode.INCLUSIVE else ""


def _edge(line: Line) -> str:
    arrow = "-.->" if line.style is Style.FAILURE else "-->"
    label = f'|"{_escaped(line.label)}"|' if line.label else ""
    return f"  s{line.source} {arrow}{label} s{line.target}"


def _failures(lines: tuple[Line, ...], has_entry: bool) -> list[str]:
    """Links are styled by their number; the one into the entry comes first."""
    first = 1 if has_entry else 0
    chosen = [str(first + number) for number, line in enumerate(lines) if line.style is Style.FAILURE]
    return [f"  linkStyle {','.join(chosen)} stroke:#dc2626"] if chosen else []


def _escaped(text: str) -> str:
    """Anything that Mermaid or HTML could read as more than text becomes `#number;`."""
    return "".join(
        character if character.isalnum() or character in _PLAIN else f"#{ord(character)};" for character in text
    )
