"""A `workbook` task that calls a block which does not exist."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.reading import entries
from noetl.playbook.rules.advice import meant
from noetl.playbook.rules.rule import Rule
from noetl.playbook.rules.spelling import Spelling, correct
from noetl.playbook.rules.written import written_tasks
from noetl.playbook.source.nodes import Scalar, Sequence


def check(document: Document) -> Iterator[Diagnostic]:
    is_misspelt = (id(document.root), "workbook") in document.once(meant)
    if is_misspelt or isinstance(document.root.get("workbook"), Sequence):
        return
    names = [entry.key.text for entry in entries(document.root, "workbook")]
    known, spelling = set(names), Spelling(names)
    for task in written_tasks(document):
        node = task.node.get("task") if task.task.kind == "workbook" else None
        if isinstance(node, Scalar) and node.value is not None and node.text not in known:
            yield _report(task.task.name, node, spelling)


def _report(task: str, node: Scalar, spelling: Spelling) -> Diagnostic:
    message = f'task "{task}" calls "{node.text}", which is not a block of the workbook'
    near = spelling.nearest(node.text)
    if near is not None:
        return RULE.at(node, f'{message}; did you mean "{near}"?', fix=correct(node, near))
    hint = f"use one of: {spelling.shown}" if spelling.names else "the playbook has no `workbook`; add one"
    return RULE.at(node, message, hint)


RULE = Rule("NOE206", "unknown-block", Severity.ERROR, check)
