"""A word that is accepted and does nothing, yet or here."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.rule import Rule
from noetl.playbook.structure import InertWord


def check(document: Document) -> Iterator[Diagnostic]:
    for finding in document.findings:
        if isinstance(finding, InertWord):
            yield RULE.at(finding.key, _message(finding))


def _message(word: InertWord) -> str:
    if word.field.elsewhere:
        return f'"{word.key.text}" does nothing here: it belongs in {word.field.elsewhere}'
    return f'"{word.key.text}" is reserved: it is accepted and does nothing yet'


RULE = Rule("NOE107", "inert-word", Severity.INFO, check)
