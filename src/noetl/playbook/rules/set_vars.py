"""`set_vars`, `set_prev` and `set_shared`."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.older import refuse
from noetl.playbook.rules.rule import Rule

MESSAGE = "`{word}` is no longer a word of the language: values are written with `set` to `ctx`, `step` or `iter`"


def check(document: Document) -> Iterator[Diagnostic]:
    return refuse(RULE, document, MESSAGE)


RULE = Rule("NOE705", "set-vars", Severity.ERROR, check)
