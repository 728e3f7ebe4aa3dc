"""More than one `else` in a list of rules."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.conditions import items, rule_lists
from noetl.playbook.rules.rule import Rule


def check(document: Document) -> Iterator[Diagnostic]:
    for rules in rule_lists(document):
        keys = [key for item in items(rules) if (key := item.key("else")) is not None]
        for key in keys[1:]:
            message = f"a second `else`; the first is on line {keys[0].line}"
            yield RULE.at(key, message, "keep one of them: only one can match when nothing else did")


RULE = Rule("NOE307", "second-else", Severity.ERROR, check)
