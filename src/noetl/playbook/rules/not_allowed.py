"""A word that is none of those a key takes."""

from collections.abc import Iterator, Sequence

from noetl.errors import closest
from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.rule import Rule
from noetl.playbook.rules.spelling import correct
from noetl.playbook.rules.wording import found
from noetl.playbook.source.nodes import Scalar
from noetl.playbook.structure import NotAllowed

ELSEWHERE = {"stop": "fail", "abort": "fail", "goto": "jump", "pass": "continue"}
"""What other tools call a word."""


def check(document: Document) -> Iterator[Diagnostic]:
    return (_report(finding) for finding in document.findings if isinstance(finding, NotAllowed))


def _report(finding: NotAllowed) -> Diagnostic:
    node, options = finding.node, finding.options
    wanted = options[0] if len(options) == 1 else f"one of {', '.join(options)}"
    message = f'"{finding.field.name}" takes {wanted}; found {found(node)}'
    near = _near(node, options)
    if near is None:
        return RULE.at(node, message)
    return RULE.at(node, message, f"did you mean `{near}`?", correct(node, near))


def _near(node: Scalar, options: Sequence[str]) -> str | None:
    if node.value is None:
        return None
    other = ELSEWHERE.get(node.text.lower())
    return other if other in options else closest(node.text, options)


RULE = Rule("NOE104", "not-allowed", Severity.ERROR, check)
