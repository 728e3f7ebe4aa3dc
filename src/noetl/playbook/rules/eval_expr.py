"""`eval` and `expr`, from before policies."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.older import refuse
from noetl.playbook.rules.rule import Rule

MESSAGE = (
    "`{word}` is no longer a word of the language: what follows from an output is said by rules with `when` and `then`"
)


def check(document: Document) -> Iterator[Diagnostic]:
    return refuse(RULE, document, MESSAGE)


RULE = Rule("NOE701", "eval-expr", Severity.ERROR, check)
