"""`when` on a step or a task, from before policies."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.older import refuse
from noetl.playbook.rules.rule import Rule

MESSAGE = "`{word}` stands here no longer: steps are admitted by `spec.policy.admit`, tasks by `spec.policy.before`"


def check(document: Document) -> Iterator[Diagnostic]:
    return refuse(RULE, document, MESSAGE)


RULE = Rule("NOE702", "step-when", Severity.ERROR, check)
