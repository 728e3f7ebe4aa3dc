"""Workbook blocks that call each other in a circle."""

from collections.abc import Iterator

import msgspec

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.model import Block
from noetl.playbook.rules.rule import Rule
from noetl.playbook.rules.written import written_tasks
from noetl.playbook.source.nodes import Node, Scalar

HINT = "a circle ends only by a rule that breaks or fails; say so in a `before` rule, or loop instead"
SHOWN_MAX = 8


class Call(msgspec.Struct, frozen=True):
    block: str
    node: Node


def check(document: Document) -> Iterator[Diagnostic]:
    calls = _calls(document)
    done: set[str] = set()
    for start in calls:
        for circle, call in _circles(start, calls, done):
            shown = circle if len(circle) <= SHOWN_MAX else [*circle[: SHOWN_MAX - 1], "…"]
            way = " → ".join([*shown, circle[0]])
            yield RULE.at(call.node, f"workbook blocks call each other in a circle: {way}", HINT)


def _calls(document: Document) -> dict[str, list[Call]]:
    found: dict[str, list[Call]] = {name: [] for name in document.playbook.workbook}
    for task in written_tasks(document):
        node = task.node.get("task")
        is_call = isinstance(task.owner, Block) and task.task.kind == "workbook"
        if is_call and isinstance(node, Scalar) and node.text in found:
            found[task.owner.name].append(Call(node.text, node))
    return found


def _circles(start: str, calls: dict[str, list[Call]], done: set[str]) -> Iterator[tuple[list[str], Call]]:
    """Walks every call once; one that leads back to a block on the way closes a circle."""
    if start in done:
        return
    way = {start: iter(calls[start])}
    while way:
        last = next(reversed(way))
        call = next(way[last], None)
        if call is None:
            done.add(last)
            del way[last]
        elif call.block in way:
            names = list(way)
            yield names[names.index(call.block) :], call
        elif call.block not in done:
            way[call.block] = iter(calls[call.block])


RULE = Rule("NOE210", "recursive-block", Severity.WARNING, check)
