"""Branches of a fan-out that meet again at a step which runs once for each of them."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.net.findings import MeetWithoutJoin
from noetl.playbook.rules.judgement import judge
from noetl.playbook.rules.net_words import step_name
from noetl.playbook.rules.rule import Rule


def check(document: Document) -> Iterator[Diagnostic]:
    for finding in document.once(judge).of(MeetWithoutJoin):
        yield _report(document, finding)


def _report(document: Document, finding: MeetWithoutJoin) -> Diagnostic:
    name, fan_out = finding.meeting.name, finding.fan_out.name
    one, other = (arc.step for arc in finding.arcs)
    branches = f'the branches of step "{fan_out}" to "{one}" and "{other}"'
    message = f'step "{name}" may run twice: {branches} can both come to it'
    hint = f"to wait for both and run once:\n  - step: {name}\n    spec: {{ join: all }}"
    return RULE.at(step_name(document, finding.meeting), message, hint)


RULE = Rule("NOE806", "meet-without-join", Severity.WARNING, check)
