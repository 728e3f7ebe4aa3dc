"""`result`, which is `output.data` now."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.older import deprecate
from noetl.playbook.rules.rule import Rule

MESSAGE = "`{word}` is an older word: a task's result is now `output.data`, its reference `output.ref`"


def check(document: Document) -> Iterator[Diagnostic]:
    return deprecate(RULE, document, MESSAGE)


RULE = Rule("NOE607", "result", Severity.WARNING, check)
