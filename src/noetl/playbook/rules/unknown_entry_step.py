"""An `entry_step` that is not a step."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.reading import child, mapping
from noetl.playbook.rules.rule import Rule
from noetl.playbook.rules.spelling import Spelling, correct
from noetl.playbook.rules.written import step_names, unclear_names
from noetl.playbook.source.nodes import Scalar


def check(document: Document) -> Iterator[Diagnostic]:
    node = child(mapping(mapping(document.root, "executor"), "spec"), "entry_step")
    names = step_names(document)
    if not isinstance(node, Scalar) or not node.text or node.text in {*names, *unclear_names(document)}:
        return
    message = f'the entry step is "{node.text}", which is not a step'
    spelling = Spelling(names)
    near = spelling.nearest(node.text)
    if near is None:
        yield RULE.at(node, message, f"use one of: {spelling.shown}; without it the first step is the entry")
    else:
        yield RULE.at(node, f'{message}; did you mean "{near}"?', fix=correct(node, near))


RULE = Rule("NOE204", "unknown-entry-step", Severity.ERROR, check)
