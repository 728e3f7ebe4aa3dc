"""Admission rules that let no token in."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.model import OnDeny
from noetl.playbook.net.findings import AdmissionNever
from noetl.playbook.reading import mapping
from noetl.playbook.rules.judgement import judge
from noetl.playbook.rules.net_words import step_name
from noetl.playbook.rules.rule import Rule


def check(document: Document) -> Iterator[Diagnostic]:
    for finding in document.once(judge).of(AdmissionNever):
        step = finding.step
        policy = mapping(mapping(document.node(step), "spec"), "policy")
        key = policy.key("admit") if policy is not None else None
        waits = step.admit is not None and step.admit.on_deny is OnDeny.WAIT
        message = f'step "{step.name}" lets no token in: {"all wait for ever" if waits else "it is always skipped"}'
        hint = "a token that no rule matches is denied; end with `- else: { then: { allow: true } }`"
        yield RULE.at(key or step_name(document, step), message, hint)


RULE = Rule("NOE813", "admission-never", Severity.WARNING, check)
