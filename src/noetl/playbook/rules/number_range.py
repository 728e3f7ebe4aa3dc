"""A number that JSON, and so an event, cannot hold."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.rule import Rule
from noetl.playbook.rules.spelling import respell
from noetl.playbook.source.nodes import Scalar
from noetl.playbook.source.scalars import quote
from noetl.playbook.structure import OutOfRange, WrongType


def check(document: Document) -> Iterator[Diagnostic]:
    told = {id(finding.node) for finding in document.findings if isinstance(finding, OutOfRange | WrongType)}
    for node in document.notes.numbers:
        if id(node) not in told:
            yield _report(node)


def _report(node: Scalar) -> Diagnostic:
    message = f"{node.text} is no finite number; values travel as JSON, which has no such number"
    quoted = quote(node.text)
    return RULE.at(node, message, f"quote it to keep it as text: {quoted}", respell(node, quoted))


RULE = Rule("NOE011", "number-range", Severity.ERROR, check)
