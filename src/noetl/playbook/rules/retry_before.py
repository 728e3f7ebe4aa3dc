"""A `retry` in the rules that are read before the tool runs."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.model import Directive
from noetl.playbook.reading import child, text
from noetl.playbook.rules.conditions import task_rules
from noetl.playbook.rules.rule import Rule

HINT = "move the rule under `rules`, or choose one of continue, skip, jump, break, fail"


def check(document: Document) -> Iterator[Diagnostic]:
    for rule in task_rules(document):
        node = child(rule.then, "do")
        if node is not None and rule.is_before and text(rule.then, "do") == Directive.RETRY:
            yield RULE.at(node, "`before` rules cannot retry: the tool has not run yet", HINT)


RULE = Rule("NOE304", "retry-before", Severity.ERROR, check)
