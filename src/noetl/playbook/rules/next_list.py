"""A list of steps where the router is."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.older import refuse
from noetl.playbook.rules.rule import Rule

MESSAGE = "`{word}` is a list; expected a mapping with `arcs`"


def check(document: Document) -> Iterator[Diagnostic]:
    return refuse(RULE, document, MESSAGE)


RULE = Rule("NOE703", "next-list", Severity.ERROR, check)
