"""A number below the least that makes sense, or without end."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.rule import Rule
from noetl.playbook.structure import OutOfRange


def check(document: Document) -> Iterator[Diagnostic]:
    for finding in document.findings:
        if isinstance(finding, OutOfRange):
            bound = "a number above" if finding.type.exclusive else "a number of at least"
            message = f'"{finding.field.name}" takes {bound} {finding.type.minimum:g}; found {finding.node.text}'
            yield RULE.at(finding.node, message, finding.field.doc)


RULE = Rule("NOE109", "out-of-range", Severity.ERROR, check)
