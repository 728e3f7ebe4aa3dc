"""The Python code of tasks: which interpreter is named for it, and whether our own can read it."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence

import msgspec

from noetl.playbook.diagnostics import Diagnostic, Severity, Span
from noetl.playbook.document import Document
from noetl.playbook.model import Block, Step, Task
from noetl.playbook.rules.needs import CODE_UNREADABLE
from noetl.playbook.rules.written import owners
from noetl.playbook.source.nodes import Mapping as MappingNode
from noetl.playbook.source.nodes import Node, Scalar
from noetl.playbook.source.positions import locate


def unreadable_code(document: Document, doomed: Sequence[Task] = ()) -> Iterator[Diagnostic]:
    """Code that our own Python cannot read, of tasks that name no other. It is an error of those that are doomed."""
    for owner in owners(document):
        for task in owner.tool:
            code = document.node(task).get("code") if task.kind == "python" else None
            if isinstance(code, Scalar) and named_python(document, owner, task) is None:
                severity = Severity.ERROR if any(task is each for each in doomed) else Severity.WARNING
                for found in _unreadable(document, code):
                    yield msgspec.structs.replace(found, severity=severity)


def _unreadable(document: Document, code: Scalar) -> Iterator[Diagnostic]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(code.text, "code", "exec", dont_inherit=True)
    except SyntaxError as error:
        version = f"Python {sys.version_info.major}.{sys.version_info.minor}"
        hint = f"it is {version} that runs it; `spec.python` names another one"
        place = span_in(document, code, line=error.lineno or 1, column=max((error.offset or 1) - 1, 0), length=1)
        yield CODE_UNREADABLE.at(place, f"{version} cannot read this code: {error.msg}", hint)
    except (ValueError, RecursionError, MemoryError):
        return


def span_in(document: Document, code: Scalar, *, line: int, column: int, length: int) -> Span:
    """Where a part of the code stands in its file."""
    before = code.text.split("\n")[: line - 1]
    start = min(sum(len(each) + 1 for each in before) + column, len(code.text))
    return locate(document.source, code, start, min(start + length, len(code.text))).span


def named_python(document: Document, owner: Step | Block, task: Task) -> Scalar | None:
    """The innermost place that names the interpreter of a python task."""
    places = (
        _below(document.node(task), "spec", "python"),
        _below(document.node(owner), "loop", "spec", "python", "python"),
        _below(document.node(owner), "spec", "python", "python"),
        _below(document.root, "executor", "spec", "python", "python"),
    )
    return next((place for place in places if isinstance(place, Scalar) and place.text), None)


def _below(node: Node | None, *keys: str) -> Node | None:
    for key in keys:
        node = node.get(key) if isinstance(node, MappingNode) else None
    return node
