"""A filter, test or function that templates do not have, or one with the wrong arguments."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.problems import report
from noetl.playbook.rules.rule import Rule


def check(document: Document) -> Iterator[Diagnostic]:
    return report(document, RULE, "filter", "test", "function")


RULE = Rule("NOE505", "unknown-filter", Severity.ERROR, check)
