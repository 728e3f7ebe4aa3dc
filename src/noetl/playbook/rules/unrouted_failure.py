"""Failures that no arc takes."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.net.findings import UnroutedFailure, UnroutedFailures
from noetl.playbook.rules.judgement import judge
from noetl.playbook.rules.net_words import quoted, step_name
from noetl.playbook.rules.rule import Rule

_HINT = """to go on after a failure, add an arc that asks for it:
  - step: …
    when: "{{ event.name == 'step.failed' }}\""""


def check(document: Document) -> Iterator[Diagnostic]:
    judgement = document.once(judge)
    for partial in judgement.of(UnroutedFailure):
        targets = quoted(list(dict.fromkeys(arc.step for arc in partial.arcs)))
        message = f'a failure of step "{partial.step.name}" may fail the execution: {targets} takes only some of them'
        yield RULE.at(step_name(document, partial.step), message, _HINT)
    for finding in judgement.of(UnroutedFailures):
        message = f"a failure of step {quoted([step.name for step in finding.steps], 'or')} fails the execution"
        yield RULE.at(step_name(document, finding.steps[0]), message, _HINT)


RULE = Rule("NOE807", "unrouted-failure", Severity.INFO, check)
