"""A word that is none of those a key takes."""

from collections.abc import Iterator

from noetl.errors import closest
from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.rule import Rule
from noetl.playbook.rules.spelling import respell
from noetl.playbook.rules.wording import found
from noetl.playbook.structure import NotAllowed


def check(document: Document) -> Iterator[Diagnostic]:
    return (_report(finding) for finding in document.findings if isinstance(finding, NotAllowed))


def _report(finding: NotAllowed) -> Diagnostic:
    node, options = finding.node, finding.options
    wanted = options[0] if len(options) == 1 else f"one of {', '.join(options)}"
    message = f'"{finding.field.name}" takes {wanted}; found {found(node)}'
    near = closest(node.text, options) if node.value is not None else None
    if near is None:
        return RULE.at(node, message)
    return RULE.at(node, message, f"did you mean `{near}`?", respell(node, near))


RULE = Rule("NOE104", "not-allowed", Severity.ERROR, check)
