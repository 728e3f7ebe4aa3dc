"""A name that templates could not read: of forbidden characters, reserved, or given to something else already."""

from collections.abc import Iterator

from noetl.expressions.sites import SCOPE_WORDS
from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.reading import entries
from noetl.playbook.rules.rule import Rule
from noetl.playbook.rules.wording import listed
from noetl.playbook.rules.written import WrittenTask, owners, pipelines
from noetl.playbook.source.nodes import Node, Scalar
from noetl.playbook.source.tree import shorten
from noetl.playbook.structure import NAME_CHARS, BadName

ITERATION_WORDS = frozenset({"index", "count", "parent"})


def check(document: Document) -> Iterator[Diagnostic]:
    for finding in document.findings:
        if isinstance(finding, BadName):
            yield _unreadable(finding.node)
    for node, what in _named(document):
        yield from _reserved(node, what)
    for tasks in document.once(pipelines):
        yield from _clashes(tasks)


def _unreadable(node: Scalar) -> Diagnostic:
    if not node.text:
        return RULE.at(node, "the name is empty; expected letters, digits and _")
    message = f'"{shorten(node.text)}" is no name; expected letters, digits and _, and no digit at the front'
    if not node.text.isascii():
        return RULE.at(node, message, "the letters are those of ASCII: a to z and A to Z")
    better = "".join(char if char in NAME_CHARS else "_" for char in node.text)
    better = f"_{better}" if better[0].isdigit() else better
    return RULE.at(node, message, f"call it `{shorten(better)}`, here and wherever it is named")


def _named(document: Document) -> Iterator[tuple[Node | None, str]]:
    for step in document.playbook.workflow:
        yield document.node(step).get("step"), "step"
    for entry in entries(document.root, "workbook"):
        yield entry.key, "workbook block"
    for owner in owners(document):
        for level in owner.loop.levels() if owner.loop is not None else ():
            yield document.node(level).get("iterator"), "iterator"
    for tasks in document.once(pipelines):
        yield from {id(task.node): (task.name, "task") for task in tasks}.values()


def _reserved(node: Node | None, what: str) -> Iterator[Diagnostic]:
    if not isinstance(node, Scalar):
        return
    words = SCOPE_WORDS | ITERATION_WORDS if what == "iterator" else SCOPE_WORDS
    if node.text in words:
        message = f'"{node.text}" is reserved and cannot name a {what}' if what != "iterator" else _iterator(node)
        yield RULE.at(node, message, f"reserved: {listed(sorted(words))}")


def _iterator(node: Scalar) -> str:
    return f'"{node.text}" is reserved and cannot name an iterator'


def _clashes(tasks: list[WrittenTask]) -> Iterator[Diagnostic]:
    """Names that were made from a position or from sugar and that another task has too."""
    first: dict[str, WrittenTask] = {}
    for task in tasks:
        other = first.setdefault(task.task.name, task)
        if other is not task and not (other.is_named and task.is_named):
            made, given = (other, task) if task.is_named else (task, other)
            place = given.name or made.name or made.node
            message = f'"{task.task.name}" is also the name made for the task on line {made.node.line}'
            yield RULE.at(place, message, "give one of them another name")


RULE = Rule("NOE105", "bad-name", Severity.ERROR, check)
