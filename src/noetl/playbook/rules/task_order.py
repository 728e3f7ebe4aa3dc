"""A task's output read where no run of that task can have happened."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.model import Directive, Task
from noetl.playbook.rules.names import Reading, Sense, read_names
from noetl.playbook.rules.rule import Rule
from noetl.playbook.rules.written import owners, title


def check(document: Document) -> Iterator[Diagnostic]:
    readings = [reading for reading in document.once(read_names)[Sense.TASK] if _needs_a_run(reading)]
    if readings:
        pipelines = {title(owner): owner.tool for owner in owners(document)}
        orders: dict[str, _Order] = {}
        for reading in readings:
            frame = reading.place.frame.title
            if frame not in orders:
                orders[frame] = _Order(pipelines.get(frame, ()))
            if orders[frame].is_too_early(reading.place.task, reading.root):
                yield _report(document, reading)


def _needs_a_run(reading: Reading) -> bool:
    """A guard may ask for what is not there yet, and so may a template that has a default."""
    return not reading.use.site.is_guard and not reading.names[0].defaulted


class _Order:
    """The tasks of one pipeline by position, and how far back jumps lead from behind each of them."""

    def __init__(self, tasks: tuple[Task, ...]) -> None:
        self._numbers = {task.name: number for number, task in enumerate(tasks)}
        self._is_unique = len(self._numbers) == len(tasks)
        self._back = [len(tasks)] * (len(tasks) + 1)
        for number in range(len(tasks) - 1, -1, -1):
            self._back[number] = min(self._back[number + 1], self._target(tasks[number]))

    def _target(self, task: Task) -> int:
        """The earliest task that a rule of this one jumps to."""
        policy = task.policy
        rules = (*policy.before, *policy.rules) if policy is not None else ()
        jumps = [rule.then.to for rule in rules if rule.then.do is Directive.JUMP]
        return min((self._numbers.get(to or "", 0) for to in jumps), default=len(self._numbers))

    def is_too_early(self, reader: str | None, read: str) -> bool:
        """Whether the task that reads comes first, and nothing leads back to it from behind it."""
        here, there = self._numbers.get(reader or ""), self._numbers.get(read)
        if here is None or there is None or not self._is_unique:
            return False
        return here < there and self._back[here + 1] > here


def _report(document: Document, reading: Reading) -> Diagnostic:
    message = f'task "{reading.place.task}" reads the output of "{reading.root}", which runs only after it'
    path = ".".join((reading.root, *(segment.name for segment in reading.names[0].segments)))
    hint = f'move "{reading.root}" before it, or say what to use instead: `{path} | default(…)`'
    return RULE.in_template(document, reading.use, reading.names[0], message, hint)


RULE = Rule("NOE512", "task-order", Severity.ERROR, check)
