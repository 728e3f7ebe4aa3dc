"""A number below the least that makes sense, or without end."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.rule import Rule
from noetl.playbook.shape import NUMBER_MAX
from noetl.playbook.structure import OutOfRange


def check(document: Document) -> Iterator[Diagnostic]:
    for finding in document.findings:
        if isinstance(finding, OutOfRange):
            message = f'"{finding.field.name}" takes a number {_bound(finding)}; found {finding.node.text}'
            yield RULE.at(finding.node, message, finding.field.doc)


def _bound(finding: OutOfRange) -> str:
    value = finding.node.value
    if isinstance(value, int | float) and value > NUMBER_MAX:
        return f"of at most {NUMBER_MAX}"
    return f"{'above' if finding.type.exclusive else 'of at least'} {finding.type.minimum:g}"


RULE = Rule("NOE109", "out-of-range", Severity.ERROR, check)
