"""An arc that is never taken because an earlier one always is."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.model import Arc
from noetl.playbook.net.findings import ShadowedArc
from noetl.playbook.rules.judgement import judge
from noetl.playbook.rules.net_words import arc_target
from noetl.playbook.rules.rule import Rule


def check(document: Document) -> Iterator[Diagnostic]:
    for finding in document.once(judge).of(ShadowedArc):
        yield _report(document, finding)


def _report(document: Document, finding: ShadowedArc) -> Diagnostic:
    message = f'step "{finding.step.name}" never takes its arc to "{finding.arc.step}"'
    target = arc_target(document, finding.arc)
    if len(finding.by) > 1:
        lines = ", ".join(str(arc_target(document, arc).line) for arc in finding.by)
        hint = "arcs are read from the top and the first that matches is taken: move it up, or narrow the others"
        return RULE.at(target, f"{message}: one of the arcs before it (lines {lines}) always is", hint)
    return RULE.at(target, f"{message}: {_always(document, finding.by[0])}", _hint(finding.by[0]))


def _always(document: Document, arc: Arc) -> str:
    return f'the arc to "{arc.step}" (line {arc_target(document, arc).line}) is taken first whenever it could be'


def _hint(arc: Arc) -> str:
    if arc.when is None:
        return f'the arc to "{arc.step}" has no `when`: put it last, or give it one'
    return f'put the arc to "{arc.step}" behind it, or make its `when` narrower'


RULE = Rule("NOE802", "shadowed-arc", Severity.WARNING, check)
