"""A template that cannot be read."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.problems import report
from noetl.playbook.rules.rule import Rule


def check(document: Document) -> Iterator[Diagnostic]:
    return report(document, RULE, "syntax")


RULE = Rule("NOE501", "template-syntax", Severity.ERROR, check)
