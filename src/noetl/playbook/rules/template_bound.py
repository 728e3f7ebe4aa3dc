"""A template too long or too deep to be compiled."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.problems import report
from noetl.playbook.rules.rule import Rule


def check(document: Document) -> Iterator[Diagnostic]:
    return report(document, RULE, "bound")


RULE = Rule("NOE511", "template-bound", Severity.ERROR, check)
