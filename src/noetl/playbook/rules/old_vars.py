"""`vars`, of the playbook or a step, and in templates."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.older import deprecate, old_words, refuse
from noetl.playbook.rules.rule import Rule

MESSAGE = (
    "`{word}` is no longer a word of the language: parameters are `workload`, what a step receives is `input`, "
    "what its tasks write is `step`"
)


def check(document: Document) -> Iterator[Diagnostic]:
    yield from refuse(RULE, document, MESSAGE)
    spoken = {finding.key.span for finding in old_words(document, RULE.code) if finding.key is not None}
    yield from (found for found in deprecate(RULE, document, MESSAGE) if found.span not in spoken)


RULE = Rule("NOE706", "old-vars", Severity.ERROR, check)
