"""Whether the text of a template shows that its value is a reference, or that it is not."""

from collections.abc import Iterable
from enum import Enum

import msgspec

from noetl.expressions.syntax import (
    Attribute,
    Choice,
    Const,
    Expression,
    Filter,
    Item,
    Logic,
    Method,
    Path,
)
from noetl.playbook.document import Document, TemplateUse
from noetl.playbook.reading import SCOPES
from noetl.playbook.rules.names import known_names


class Verdict(Enum):
    REFERENCE = "reference"
    DATA = "data"
    UNKNOWN = "unknown"


_OUTPUTS = frozenset({"output", "outcome"})
_PARTS = frozenset({"data", "status", "error", "meta", "loop"})
_PLAIN_SCOPES = frozenset({"execution_id", "_task", "_attempt", "event"})
_PICKING = frozenset({"default", "d", "first", "last", "max", "min"})
"""Filters that give back a value they were given."""


class Names(msgspec.Struct, frozen=True):
    """`outputs` are the names that hold an output, and `parts` what an output has that is data.

    `references` are the paths ending in `_ref` that a `set` writes.
    """

    outputs: frozenset[str]
    parts: frozenset[str]
    references: frozenset[str]


def reference_names(document: Document) -> Names:
    known = document.once(known_names)
    written = (use.target for use in document.notes.sets if use.target.endswith("_ref"))
    parts = _PARTS.union(document.vocabulary.blocks)
    return Names(_OUTPUTS.union(known.steps, known.tasks), parts, frozenset(written))


def templates_by_node(document: Document) -> dict[int, TemplateUse]:
    """By the identity of the node."""
    return {id(use.node): use for use in document.notes.templates}


def judge_expression(node: Expression, names: Names) -> Verdict:
    match node:
        case Const(value=value):
            return Verdict.UNKNOWN if value is None else Verdict.DATA
        case Path() | Attribute() | Item():
            return _judge_path(dotted_path(node), names)
        case Choice(then=then, otherwise=otherwise):
            parts = (then,) if otherwise is None else (then, otherwise)
            return _agreed(judge_expression(part, names) for part in parts)
        case Logic(parts=parts):
            return _agreed(judge_expression(part, names) for part in parts)
        case Filter(name=name) if name in _PICKING:
            return Verdict.UNKNOWN
        case Method(name="get"):
            return Verdict.UNKNOWN
        case _:
            return Verdict.DATA


def _judge_path(path: tuple[str, ...] | None, names: Names) -> Verdict:
    if path is None:
        return Verdict.UNKNOWN
    root, last = path[0], path[-1]
    if root in SCOPES:
        return Verdict.REFERENCE if ".".join(path) in names.references else Verdict.UNKNOWN
    if root in _PLAIN_SCOPES:
        return Verdict.DATA
    if root not in names.outputs:
        return Verdict.UNKNOWN
    if path[1:] == ("ref",):
        return Verdict.REFERENCE
    is_part = len(path) == 1 or path[1] in names.parts or path[1] == "ref"
    return Verdict.DATA if is_part and last != "ref" and not last.endswith("_ref") else Verdict.UNKNOWN


def dotted_path(node: Expression) -> tuple[str, ...] | None:
    """The dotted name, where the expression is one and no key in it is computed."""
    names: list[str] = []
    while not isinstance(node, Path):
        match node:
            case Attribute(target=target, name=name):
                names.append(name)
            case Item(target=target, key=Const(value=str(name))):
                names.append(name)
            case _:
                return None
        node = target
    return (node.root, *node.names, *reversed(names))


def _agreed(verdicts: Iterable[Verdict]) -> Verdict:
    found = set(verdicts)
    return found.pop() if len(found) == 1 else Verdict.UNKNOWN
