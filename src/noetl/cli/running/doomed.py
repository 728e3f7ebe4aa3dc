"""What the first tasks of a run certainly fail at, though all of their templates can be evaluated."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from noetl.cli.running.beginning import Beginning, FirstTask
from noetl.cli.running.mains import lacked_argument
from noetl.engine.pipeline import Bound
from noetl.engine.reference import Reference, word_of
from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.needs import VALUE_UNFIT
from noetl.playbook.source.nodes import Mapping as MappingNode
from noetl.playbook.source.nodes import Node, Scalar

WEB = ("http://", "https://")


def doomed(document: Document, begun: Beginning) -> Iterator[Diagnostic]:
    """An error where the run fails with it; a warning where a rule, a loop or an arc takes it."""
    for first in begun.tasks.values():
        found = _wrong(document, first, first.bound) if first.bound is not None else None
        if found is not None:
            severity = Severity.ERROR if "input" in first.fatal else Severity.WARNING
            yield msgspec.structs.replace(found, severity=severity)


def _wrong(document: Document, first: FirstTask, bound: Bound) -> Diagnostic | None:
    node = document.node(first.task)
    match first.task.kind:
        case "http":
            return _address(_written(node, "url"), bound.fields.get("url"))
        case "resolve":
            return _reference(_written(node, "ref"), bound.fields.get("ref"))
        case "python":
            return _arguments(document, node.get("code"), bound)
        case _:
            return None


def _address(place: Node, url: object) -> Diagnostic | None:
    if isinstance(url, str) and url.strip().lower().startswith(WEB):
        return None
    found = repr(url) if isinstance(url, str) else word_of(url)
    return VALUE_UNFIT.at(place, f"`url` must begin with http:// or https://, and is {found}")


def _reference(place: Node, ref: object) -> Diagnostic | None:
    if isinstance(ref, Reference):
        return None
    return VALUE_UNFIT.at(
        place, f"`ref` must be a reference, such as `output.ref` of a task or step, and is {word_of(ref)}"
    )


def _arguments(document: Document, code: Node | None, bound: Bound) -> Diagnostic | None:
    lack = lacked_argument(document, code, bound.input.keys()) if isinstance(code, Scalar) else None
    if lack is None:
        return None
    has = ", ".join(f"`{name}`" for name in bound.input) or "nothing"
    return VALUE_UNFIT.at(
        lack.span, f"`main` needs `{lack.name}`, and the input has {has}", f"add `{lack.name}` to `input`"
    )


def _written(node: MappingNode, name: str) -> Node:
    """Where a field of a task stands: in its `input` or beside it."""
    inputs = node.get("input")
    inner = inputs.get(name) if isinstance(inputs, MappingNode) else None
    return inner or node.get(name) or node
