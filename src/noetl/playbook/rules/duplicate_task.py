"""Two tasks of one name in a pipeline."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.aliases import Aliases
from noetl.playbook.rules.rule import Rule
from noetl.playbook.rules.written import pipelines, title
from noetl.playbook.source.nodes import Scalar


def check(document: Document) -> Iterator[Diagnostic]:
    for tasks in document.once(pipelines):
        first: dict[str, Scalar] = {}
        aliases = Aliases(document.source)
        for task in tasks:
            if task.name is None or task.is_generated:
                continue
            other = first.get(task.task.name)
            if other is None:
                first[task.task.name] = task.name
            elif other is task.name:
                message = f'an alias repeats task "{task.task.name}" of line {task.name.line}; task names are unique'
                place = aliases.next_of(task.node) or task.name
                yield RULE.at(place, message, "write the second task out under a name of its own")
            else:
                message = f'{title(task.owner)} already has a task "{task.task.name}" on line {other.line}'
                yield RULE.at(task.name, message, "rename one of them, and the jumps that lead to it")


RULE = Rule("NOE202", "duplicate-task", Severity.ERROR, check)
