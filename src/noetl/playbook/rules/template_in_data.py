"""A template in a place whose text is never evaluated."""

from bisect import bisect_right
from collections.abc import Iterator
from operator import itemgetter

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.code_texts import code_texts
from noetl.playbook.rules.rule import Rule
from noetl.playbook.rules.scopes_in_text import find_tag
from noetl.playbook.source.nodes import Mapping, Node, Scalar, Sequence
from noetl.playbook.source.positions import locate
from noetl.playbook.structure import BadDuration, NotAllowed, UnknownKey, WrongType

_FREE_TEXT = frozenset({"description"})
"""Keys of `metadata` that are prose and may well speak of templates."""


def check(document: Document) -> Iterator[Diagnostic]:
    code = {id(text.node) for text in document.once(code_texts)}
    mistaken = _mistaken(document)
    for node in (*document.notes.plain, *_metadata(document)):
        part = find_tag(node.text) if id(node) not in code and not _is_within(node, mistaken) else None
        if part is not None:
            span = locate(document.source, node, part.start, part.end).span
            yield RULE.at(span, f"a template in {_area(document, node)} is never evaluated: it stays text", _HINT)


_HINT = "write the value itself, or put the template where the value is used, such as a task's `input`"


def _mistaken(document: Document) -> list[tuple[int, int]]:
    """What stands where it should not, in the order of the file: other rules say what to write there."""
    found: list[Node] = []
    for finding in document.findings:
        if isinstance(finding, WrongType | NotAllowed | BadDuration):
            found.append(finding.node)
        elif isinstance(finding, UnknownKey):
            value = finding.parent.get(finding.key.text)
            found += [value] if value is not None else []
    return sorted((node.start, node.end) for node in found)


def _is_within(node: Node, areas: list[tuple[int, int]]) -> bool:
    position = bisect_right(areas, node.start, key=itemgetter(0))
    return position > 0 and node.start < areas[position - 1][1]


def _metadata(document: Document) -> Iterator[Scalar]:
    metadata = document.root.get("metadata")
    for entry in metadata.entries if isinstance(metadata, Mapping) else ():
        if entry.key.text not in _FREE_TEXT:
            yield from _scalars(entry.value)


def _scalars(node: Node) -> Iterator[Scalar]:
    if isinstance(node, Scalar):
        yield node
    else:
        values = node.items if isinstance(node, Sequence) else [entry.value for entry in node.entries]
        yield from (value for value in values if isinstance(value, Scalar))


def _area(document: Document, node: Scalar) -> str:
    for key in ("workload", "metadata"):
        area = document.root.get(key)
        if area is not None and area.start <= node.start < area.end:
            return f"`{key}`"
    return "a setting"


RULE = Rule("NOE510", "template-in-data", Severity.WARNING, check)
