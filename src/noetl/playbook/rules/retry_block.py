"""`retry`, from before policies."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.older import refuse
from noetl.playbook.rules.rule import Rule

MESSAGE = "`{word}` is no longer a word of the language: a task is run again by a rule with `do: retry`"


def check(document: Document) -> Iterator[Diagnostic]:
    return refuse(RULE, document, MESSAGE)


RULE = Rule("NOE709", "retry-block", Severity.ERROR, check)
