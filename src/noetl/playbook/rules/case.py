"""`case`, from before routers."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.older import refuse
from noetl.playbook.rules.rule import Rule

MESSAGE = "`{word}` is no longer a word of the language: the ways to other steps are the arcs of `next`"


def check(document: Document) -> Iterator[Diagnostic]:
    return refuse(RULE, document, MESSAGE)


RULE = Rule("NOE707", "case", Severity.ERROR, check)
