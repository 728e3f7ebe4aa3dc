"""Steps that follow one another for ever."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.net.findings import Certainty, EndlessCycle
from noetl.playbook.rules.judgement import judge
from noetl.playbook.rules.net_words import circle, step_name
from noetl.playbook.rules.rule import Rule


def check(document: Document) -> Iterator[Diagnostic]:
    for finding in document.once(judge).of(EndlessCycle):
        yield _report(document, finding)


def _report(document: Document, finding: EndlessCycle) -> Diagnostic:
    repeats = circle("step", [step.name for step in finding.steps])
    if finding.certainty is Certainty.MAY:
        message = f"{repeats} as long as nothing fails: only a failure may lead on"
    elif finding.can_fail:
        message = f"{repeats} until a failure ends the execution: no arc leads on"
    else:
        message = f"{repeats} for ever: no arc leads on"
    hint = "add an arc that leaves when the work is done, with a `when` and before the one that goes back"
    return RULE.at(step_name(document, finding.steps[0]), message, hint)


RULE = Rule("NOE805", "endless-cycle", Severity.WARNING, check)
