"""A keychain kind that does not exist."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.rule import Rule
from noetl.playbook.rules.spelling import Spelling, correct
from noetl.playbook.source.tree import shorten
from noetl.playbook.structure import UnknownKeychainKind


def check(document: Document) -> Iterator[Diagnostic]:
    kinds = Spelling(list(document.vocabulary.keychain_kinds))
    return (_report(finding, kinds) for finding in document.findings if isinstance(finding, UnknownKeychainKind))


def _report(finding: UnknownKeychainKind, kinds: Spelling) -> Diagnostic:
    node = finding.node
    message = f'unknown keychain kind "{shorten(node.text)}"'
    hint = f"keychain kinds: {kinds.shown}"
    near = _longer(node.text, kinds) or kinds.nearest(node.text)
    if near is None:
        return RULE.at(node, message, hint)
    return RULE.at(node, f'{message}; did you mean "{near}"?', hint, correct(node, near))


def _longer(word: str, kinds: Spelling) -> str | None:
    """The kind that a short form such as `postgres` stands for."""
    return next((kind for kind in kinds.names if kind.startswith(f"{word}_")), None)


RULE = Rule("NOE113", "unknown-keychain-kind", Severity.ERROR, check)
