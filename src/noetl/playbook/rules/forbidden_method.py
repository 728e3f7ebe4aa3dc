"""A method that templates cannot call."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.problems import report
from noetl.playbook.rules.rule import Rule


def check(document: Document) -> Iterator[Diagnostic]:
    return report(document, RULE, "method")


RULE = Rule("NOE506", "forbidden-method", Severity.ERROR, check)
