"""A word that is accepted and does nothing yet."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.rule import Rule
from noetl.playbook.structure import InertWord


def check(document: Document) -> Iterator[Diagnostic]:
    for finding in document.findings:
        if isinstance(finding, InertWord) and not finding.field.elsewhere:
            yield RULE.at(finding.key, f'"{finding.key.text}" is reserved: it is accepted and does nothing yet')


RULE = Rule("NOE107", "inert-word", Severity.INFO, check)
