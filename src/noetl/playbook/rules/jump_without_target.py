"""A `jump` that does not say where to."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.model import Directive
from noetl.playbook.reading import child, text
from noetl.playbook.rules.advice import meant
from noetl.playbook.rules.conditions import task_rules
from noetl.playbook.rules.rule import Rule


def check(document: Document) -> Iterator[Diagnostic]:
    told = document.once(meant)
    for rule in task_rules(document):
        node = child(rule.then, "do")
        is_jump = text(rule.then, "do") == Directive.JUMP
        if node is not None and is_jump and child(rule.then, "to") is None and (id(rule.then), "to") not in told:
            yield RULE.at(node, '`do: jump` has no "to"', "name the task to go on with: `to: task_name`")


RULE = Rule("NOE310", "jump-without-target", Severity.ERROR, check)
