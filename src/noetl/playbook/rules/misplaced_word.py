"""A knob that does nothing where it stands, and would where it belongs."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.rule import Rule
from noetl.playbook.structure import InertWord


def check(document: Document) -> Iterator[Diagnostic]:
    for finding in document.findings:
        if isinstance(finding, InertWord) and finding.field.elsewhere:
            message = f'"{finding.key.text}" does nothing here: it belongs in {finding.field.elsewhere}'
            yield RULE.at(finding.key, message, "move it there, or delete it")


RULE = Rule("NOE116", "misplaced-word", Severity.WARNING, check)
