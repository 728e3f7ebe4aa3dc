"""An arc whose condition is never true."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.net.findings import NeverArc, NeverReason
from noetl.playbook.rules.judgement import judge
from noetl.playbook.rules.net_words import arc_guard
from noetl.playbook.rules.rule import Rule

_VALUES = """after a success `event.name` is "step.done", or "loop.done" with a loop, and `event.status` is "success";
after a failure they are "step.failed" and "error"; `output.status` is "ok" or "error\""""

_REASONS = {
    NeverReason.CONSTANT: ("its `when` is always false", "remove it, or write the condition under which to take it"),
    NeverReason.NO_SUCCESS: ("the step never succeeds", "its pipeline fails in every case, or repeats until it does"),
    NeverReason.NO_FAILURE: ("the step cannot fail", "it has no task; remove the arc"),
    NeverReason.CONTRADICTION: (
        "its `when` contradicts itself",
        _VALUES,
    ),
}


def check(document: Document) -> Iterator[Diagnostic]:
    for finding in document.once(judge).of(NeverArc):
        reason, hint = _REASONS[finding.reason]
        message = f'step "{finding.step.name}" never takes its arc to "{finding.arc.step}": {reason}'
        yield RULE.at(arc_guard(document, finding.arc), message, hint)


RULE = Rule("NOE811", "never-arc", Severity.WARNING, check)
