"""A statement of Jinja2 that playbook templates do not have."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.problems import report
from noetl.playbook.rules.rule import Rule


def check(document: Document) -> Iterator[Diagnostic]:
    return report(document, RULE, "statement")


RULE = Rule("NOE507", "unsupported-statement", Severity.ERROR, check)
