"""A step after which the run can end although it has arcs."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.net.findings import Certainty, LostToken
from noetl.playbook.rules.judgement import judge
from noetl.playbook.rules.net_words import quoted, step_name
from noetl.playbook.rules.rule import Rule


def check(document: Document) -> Iterator[Diagnostic]:
    for finding in document.once(judge).of(LostToken):
        yield _report(document, finding)


def _report(document: Document, finding: LostToken) -> Diagnostic:
    step = finding.step
    place = step_name(document, step)
    targets = quoted(list(dict.fromkeys(arc.step for arc in finding.arcs)), "or")
    if finding.certainty is Certainty.MUST:
        message = f'no arc is ever taken after a success of step "{step.name}": the run always ends there'
        return RULE.at(place, message, f"the way on to {targets} needs a `when` that is true after a success")
    message = f'step "{step.name}" may succeed without an arc being taken: the run then ends there, silently'
    hint = f"besides the way to {targets}, add a last arc without `when` for all other cases"
    return RULE.at(place, message, hint)


RULE = Rule("NOE804", "lost-token", Severity.WARNING, check)
