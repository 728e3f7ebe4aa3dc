"""Values that an arc hands on in `args`."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.older import deprecate
from noetl.playbook.rules.rule import Rule

MESSAGE = "`{word}` on an arc is now `set` on the arc, and `input` on the step it leads to"


def check(document: Document) -> Iterator[Diagnostic]:
    return deprecate(RULE, document, MESSAGE)


RULE = Rule("NOE605", "arc-args", Severity.WARNING, check)
