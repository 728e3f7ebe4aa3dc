"""A step with neither `tool` nor `next`."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.rule import Rule
from noetl.playbook.rules.wording import head
from noetl.playbook.structure import UnknownKey

DOING = frozenset({"tool", "next", "pipe", "case", "eval", "sink"})
"""Words that do something, those of older playbooks included."""

HINT = "give it a `tool` or a `next`, or delete it and the arcs that lead to it"


def check(document: Document) -> Iterator[Diagnostic]:
    told = {id(finding.parent) for finding in document.findings if isinstance(finding, UnknownKey)}
    for step in document.playbook.workflow:
        node = document.node(step)
        if not node.keys() & DOING and id(node) not in told:
            yield RULE.at(head(node), f'step "{step.name}" has neither "tool" nor "next": it does nothing', HINT)


RULE = Rule("NOE207", "empty-step", Severity.WARNING, check)
