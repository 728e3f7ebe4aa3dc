"""YAML text to a tree of nodes with positions, or to the reasons why not. Never raises, whatever the input.

Duplicate and non-text keys, tags and unknown aliases are collected while the reading goes on. A part that is no YAML
is left out, so that the others can still be read; anything else ends the reading there.
"""

from noetl.playbook.diagnostics import Span
from noetl.playbook.source.bounds import DEPTH_MAX, NODES_MAX, PROBLEMS_MAX, SCALAR_CHARS_MAX
from noetl.playbook.source.conflicts import find_conflicts
from noetl.playbook.source.encoding import FILE_BYTES_MAX, decode, readable
from noetl.playbook.source.lines import Lines
from noetl.playbook.source.nodes import (
    Entry,
    Mapping,
    Node,
    Refused,
    Scalar,
    Sequence,
    Source,
    SourceProblem,
    Style,
)
from noetl.playbook.source.part import read_part
from noetl.playbook.source.resume import read_rest

__all__ = [
    "DEPTH_MAX",
    "FILE_BYTES_MAX",
    "NODES_MAX",
    "PROBLEMS_MAX",
    "SCALAR_CHARS_MAX",
    "Entry",
    "Mapping",
    "Node",
    "Scalar",
    "Sequence",
    "Source",
    "SourceProblem",
    "Style",
    "read_source",
]


def read_source(data: bytes | str, name: str) -> tuple[Source, list[SourceProblem]]:
    """Read one playbook's text. What could be built of its tree is in the source, beside all problems."""
    try:
        encoded, text = decode(data)
    except Refused as refused:
        text = readable(data, refused.problem)
        return Source(text, name, None, False, Lines(text)), [refused.problem]
    lines = Lines(text)
    if conflicts := find_conflicts(lines):
        return Source(text, name, None, False, lines), conflicts
    part = read_part(encoded, lines, 0, len(text))
    if part.is_broken:
        rest = read_rest(lines, part)
        return Source(text, name, rest.root, False, lines, rest.lost), rest.problems
    if part.ended_by is None and not isinstance(part.root, Mapping):
        part.problems.append(_no_mapping(part.root))
    root = part.root if isinstance(part.root, Mapping) else None
    return Source(text, name, root, part.ended_by is None, lines), part.problems


def _no_mapping(root: Scalar | Sequence | None) -> SourceProblem:
    hint = "a playbook begins with keys such as apiVersion, kind, metadata and workflow"
    if root is None:
        return SourceProblem("empty", "the file is empty; expected a playbook", Span(1, 1, 1, 1), hint)
    if isinstance(root, Scalar) and ":" in root.text.split(" ")[0]:
        hint = "put a space after the colon of a key"
    found = "a list" if isinstance(root, Sequence) else "a single value"
    message = f"the file is {found}; expected a mapping with the keys of a playbook"
    return SourceProblem("empty", message, root.span, hint)
