"""A rule whose condition is never true."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.net.findings import NeverReason, NeverRule
from noetl.playbook.rules.judgement import judge
from noetl.playbook.rules.net_words import owner_of, rule_guard, sugar_name
from noetl.playbook.rules.rule import Rule
from noetl.playbook.rules.written import title


def check(document: Document) -> Iterator[Diagnostic]:
    for finding in document.once(judge).of(NeverRule):
        yield _report(document, finding)


def _report(document: Document, finding: NeverRule) -> Diagnostic:
    is_constant = finding.reason is NeverReason.CONSTANT
    reason = "is always false" if is_constant else "contradicts itself"
    sugar = sugar_name(document, finding.task)
    if sugar is not None:
        message = f"this `when` of {sugar} in {title(finding.owner)} {reason}"
    else:
        message = f"this rule of {owner_of(finding.owner, finding.task)} never applies: its `when` {reason}"
    place = rule_guard(document, finding.rule, finding.task, finding.owner)
    return RULE.at(place, message, _CONSTANT if is_constant else _HINT)


_CONSTANT = "write a condition that can hold, or delete what depends on it"

_HINT = '`output.status` is either "ok" or "error", and `output.error` is there only with "error"'


RULE = Rule("NOE814", "never-rule", Severity.WARNING, check)
