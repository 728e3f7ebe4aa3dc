"""Two fields of which a task takes only one."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.fields import given_fields
from noetl.playbook.rules.rule import Rule
from noetl.playbook.rules.wording import called
from noetl.playbook.rules.written import WrittenTask, written_tasks
from noetl.playbook.source.nodes import Scalar


def check(document: Document) -> Iterator[Diagnostic]:
    for task in written_tasks(document):
        for first, *others in _groups(task):
            for key in others:
                owner = called(task.node, f"{task.task.kind} task")
                message = f'{owner} has both "{first.text}" and "{key.text}"; expected one of them'
                yield RULE.at(key, message, f'delete "{key.text}", or "{first.text}" on line {first.line}')


def _groups(task: WrittenTask) -> Iterator[list[Scalar]]:
    """For each group of fields of which one is to be given, those that are."""
    if task.kind is None:
        return
    given = given_fields(task, task.kind)
    auth = task.node.key("auth")
    if auth is not None:
        given.setdefault("auth", []).append(auth)
    for group in task.kind.one_of:
        keys = [given[name][0] for name in group if name in given]
        if keys:
            yield sorted(keys, key=_place)


def _place(key: Scalar) -> int:
    return key.start


RULE = Rule("NOE114", "exclusive-fields", Severity.ERROR, check)
