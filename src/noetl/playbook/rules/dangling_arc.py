"""An arc to a step that does not exist."""

from collections.abc import Iterator

from noetl.errors import closest
from noetl.playbook.diagnostics import Diagnostic, Edit, Severity
from noetl.playbook.document import Document
from noetl.playbook.model import Arc, Step
from noetl.playbook.rules.rule import Rule


def check(document: Document) -> Iterator[Diagnostic]:
    names = [step.name for step in document.playbook.workflow]
    known = set(names)
    for step in document.playbook.workflow:
        for arc in step.next.arcs:
            if arc.step not in known:
                yield _report(document, step, arc, names)


def _report(document: Document, step: Step, arc: Arc, names: list[str]) -> Diagnostic:
    target = document.node(arc).get("step")
    assert target is not None
    message = f'step "{step.name}" has an arc to "{arc.step}", which is not a step'
    near = closest(arc.step, names)
    if near is None:
        return RULE.at(target, message, f"add a step of that name, or use one of: {', '.join(names[:12])}")
    return RULE.at(target, f'{message}; did you mean "{near}"?', fix=[Edit(target.start, target.end, near)])


RULE = Rule("NOE203", "dangling-arc", Severity.ERROR, check)
