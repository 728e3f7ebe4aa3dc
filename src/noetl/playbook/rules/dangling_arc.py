"""An arc to a step that does not exist."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.model import Arc, Step
from noetl.playbook.rules.rule import Rule
from noetl.playbook.rules.spelling import Spelling, correct
from noetl.playbook.rules.written import step_names, unclear_names
from noetl.playbook.source.nodes import Scalar


def check(document: Document) -> Iterator[Diagnostic]:
    names = step_names(document)
    known = {*names, *unclear_names(document)}
    spelling = Spelling(names)
    for step in document.playbook.workflow:
        for arc in step.next.arcs:
            target = document.node(arc).get("step")
            if arc.step not in known and isinstance(target, Scalar):
                yield _report(step, arc, target, spelling)


def _report(step: Step, arc: Arc, target: Scalar, spelling: Spelling) -> Diagnostic:
    message = f'step "{step.name}" has an arc to "{arc.step}", which is not a step'
    near = spelling.nearest(arc.step)
    if near is None:
        return RULE.at(target, message, f"add a step of that name, or use one of: {spelling.shown}")
    return RULE.at(target, f'{message}; did you mean "{near}"?', fix=correct(target, near) if near != step.name else [])


RULE = Rule("NOE203", "dangling-arc", Severity.ERROR, check)
