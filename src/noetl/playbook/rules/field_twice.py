"""A field that is given twice: on the task and under `input`, or under both its names."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.fields import given_fields
from noetl.playbook.rules.rule import Rule
from noetl.playbook.rules.written import written_tasks
from noetl.playbook.source.nodes import Scalar


def check(document: Document) -> Iterator[Diagnostic]:
    for task in written_tasks(document):
        for keys in given_fields(task, task.kind).values() if task.kind is not None else ():
            for key in keys[1:]:
                yield _report(keys[0], key)


def _report(first: Scalar, second: Scalar) -> Diagnostic:
    if first.text == second.text:
        message = f'"{second.text}" is given twice; the first is on line {first.line}'
        return RULE.at(second, message, "keep the one under `input`")
    message = f'"{second.text}" and "{first.text}" on line {first.line} are two names of one field'
    return RULE.at(second, message, "keep one of them")


RULE = Rule("NOE112", "field-twice", Severity.ERROR, check)
