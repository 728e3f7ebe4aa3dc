"""The pipelines of a document by the place of a template, and with the output of which kinds of task each can end."""

from noetl.playbook.document import Document, Place
from noetl.playbook.model import Block, Directive, Step, Task


class Scene:
    """A document with its steps by name, so that a place is looked up at once."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.steps = {step.name: step for step in reversed(document.playbook.workflow)}

    def owner(self, place: Place) -> Step | Block | None:
        """The step or workbook block in which a place lies."""
        root, _, rest = place.path.partition("/")
        name = rest.partition("/")[0]
        if root == "workbook":
            return self.document.playbook.workbook.get(name)
        return self.steps.get(name) if root == "workflow" else None


def task_of(owner: Step | Block | None, name: str | None) -> Task | None:
    return next((task for task in owner.tool if task.name == name), None) if owner is not None else None


def final_kinds(owner: Step | Block | None) -> set[str]:
    """The kinds of the tasks whose output can be the step's after success. A loop's output is of no task."""
    if owner is None or not owner.tool or owner.loop is not None:
        return set()
    ending = [task for task in owner.tool if _can_break(task)]
    return {task.kind for task in (*ending, owner.tool[-1])}


def _can_break(task: Task) -> bool:
    rules = (*task.policy.rules, *task.policy.before) if task.policy is not None else ()
    return any(rule.then.do is Directive.BREAK for rule in rules)
