"""Steps that follow one another for ever."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.net.findings import Certainty, EndlessCycle
from noetl.playbook.rules.judgement import judge
from noetl.playbook.rules.net_words import chain, step_name
from noetl.playbook.rules.rule import Rule


def check(document: Document) -> Iterator[Diagnostic]:
    for finding in document.once(judge).of(EndlessCycle):
        yield _report(document, finding)


def _report(document: Document, finding: EndlessCycle) -> Diagnostic:
    circle = chain([step.name for step in finding.steps])
    if finding.certainty is Certainty.MAY:
        message = f"the steps {circle} may repeat for ever: only a failure leads out of the circle"
    elif finding.can_fail:
        message = f"the steps {circle} repeat until one of them fails: no arc leads out of the circle"
    else:
        message = f"the steps {circle} repeat for ever: no arc leads out of the circle"
    hint = "let one of them leave when the work is done: an arc with a `when`, before the one that goes back"
    return RULE.at(step_name(document, finding.steps[0]), message, hint)


RULE = Rule("NOE805", "endless-cycle", Severity.WARNING, check)
