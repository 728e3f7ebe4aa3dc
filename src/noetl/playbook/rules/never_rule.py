"""A rule whose condition is never true."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.net.findings import NeverReason, NeverRule
from noetl.playbook.rules.judgement import judge
from noetl.playbook.rules.net_words import owner_of, rule_guard
from noetl.playbook.rules.rule import Rule


def check(document: Document) -> Iterator[Diagnostic]:
    for finding in document.once(judge).of(NeverRule):
        is_constant = finding.reason is NeverReason.CONSTANT
        reason = "its `when` is always false" if is_constant else "its `when` contradicts itself"
        message = f"this rule of {owner_of(finding.owner, finding.task)} never applies: {reason}"
        place = rule_guard(document, finding.rule, finding.task, finding.owner)
        yield RULE.at(place, message, None if is_constant else _HINT)


_HINT = "`output.status` is \"ok\" or \"error\", and only one at a time"

RULE = Rule("NOE814", "never-rule", Severity.WARNING, check)
