"""The `apiVersion` of v10."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.older import deprecate
from noetl.playbook.rules.rule import Rule

MESSAGE = "`apiVersion: {word}` is now `apiVersion: noetl.io/v2`"


def check(document: Document) -> Iterator[Diagnostic]:
    return deprecate(RULE, document, MESSAGE)


RULE = Rule("NOE601", "api-version-v10", Severity.WARNING, check)
