"""A tool kind that does not exist."""

from collections.abc import Iterator, Mapping

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.rule import Rule
from noetl.playbook.rules.spelling import Spelling, correct
from noetl.playbook.source.tree import shorten
from noetl.playbook.structure import UnknownKind

ELSEWHERE = {
    "shell": "script",
    "bash": "script",
    "command": "script",
    "postgresql": "postgres",
    "sql": "postgres",
    "rest": "http",
    "request": "http",
    "https": "http",
    "sub_playbook": "playbook",
    "secret": "secrets",
}
"""What other tools call a kind."""


def check(document: Document) -> Iterator[Diagnostic]:
    kinds, unusable = Spelling(list(document.vocabulary.kinds)), document.vocabulary.unusable
    return (_report(finding, kinds, unusable) for finding in document.findings if isinstance(finding, UnknownKind))


def _report(finding: UnknownKind, kinds: Spelling, unusable: Mapping[str, str]) -> Diagnostic:
    node = finding.node
    if node.text in unusable:
        return RULE.at(node, f'the kind "{node.text}" cannot be used', unusable[node.text])
    message = f'unknown kind "{shorten(node.text)}"'
    hint = "\n".join((f"kinds: {kinds.shown}", *(f"not `{name}`: {reason}" for name, reason in unusable.items())))
    other = ELSEWHERE.get(node.text.lower())
    near = other if other in kinds.names else kinds.nearest(node.text)
    if near is None:
        return RULE.at(node, message, hint)
    return RULE.at(node, f'{message}; did you mean "{near}"?', hint, correct(node, near))


RULE = Rule("NOE110", "unknown-kind", Severity.ERROR, check)
