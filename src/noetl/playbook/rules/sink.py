"""`sink`, from before storing was a task."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.older import refuse
from noetl.playbook.rules.rule import Rule

MESSAGE = "`{word}` is no longer a word of the language: data is stored by a task"


def check(document: Document) -> Iterator[Diagnostic]:
    return refuse(RULE, document, MESSAGE)


RULE = Rule("NOE708", "sink", Severity.ERROR, check)
