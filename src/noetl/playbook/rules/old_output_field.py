"""A part of an output under a name it no longer has."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.older import deprecate
from noetl.playbook.rules.rule import Rule

MESSAGE = "`{word}` is an older name"


def check(document: Document) -> Iterator[Diagnostic]:
    return deprecate(RULE, document, MESSAGE)


RULE = Rule("NOE712", "old-output-field", Severity.ERROR, check)
