"""A rule that never matches because an earlier one always does."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.net.findings import ShadowedRule
from noetl.playbook.rules.judgement import judge
from noetl.playbook.rules.net_words import owner_of, rule_guard
from noetl.playbook.rules.rule import Rule


def check(document: Document) -> Iterator[Diagnostic]:
    for finding in document.once(judge).of(ShadowedRule):
        if id(finding.rule) in document.notes.origins:
            yield _report(document, finding)


def _report(document: Document, finding: ShadowedRule) -> Diagnostic:
    guards = [rule_guard(document, rule, finding.task, finding.owner) for rule in finding.by]
    lines = ", ".join(str(guard.line) for guard in guards)
    which = f"the rule on line {lines} matches" if len(guards) == 1 else f"one of the rules on lines {lines} matches"
    what = "this `else`" if finding.rule.is_else else "this rule"
    message = f"{what} of {owner_of(finding.owner, finding.task)} never applies: {which} first"
    hint = "rules are read from the top and the first that matches decides: move it up, or narrow the others"
    return RULE.at(rule_guard(document, finding.rule), message, hint)


RULE = Rule("NOE803", "shadowed-rule", Severity.WARNING, check)
