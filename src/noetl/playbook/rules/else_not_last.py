"""An `else` above other rules."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.conditions import items, rule_lists
from noetl.playbook.rules.rule import Rule


def check(document: Document) -> Iterator[Diagnostic]:
    for rules in rule_lists(document):
        keys = [item.key("else") for item in items(rules)]
        first = next((key for key in keys if key is not None), None)
        if first is not None and keys[-1] is None:
            message = "`else` stands above other rules; they are read before it all the same"
            yield RULE.at(first, message, "move it to the end, where its turn comes")


RULE = Rule("NOE311", "else-not-last", Severity.WARNING, check)
