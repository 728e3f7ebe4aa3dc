"""`set_ctx` and `set_iter`, which are `set` now."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.older import deprecate
from noetl.playbook.rules.rule import Rule

MESSAGE = "`{word}` is now `set`, with the scope before each key"


def check(document: Document) -> Iterator[Diagnostic]:
    return deprecate(RULE, document, MESSAGE)


RULE = Rule("NOE604", "set-ctx-iter", Severity.WARNING, check)
