"""Where the fields of a task's kind may stand, and where they do."""

from noetl.playbook.kinds import Kind
from noetl.playbook.rules.written import WrittenTask
from noetl.playbook.source.nodes import Mapping, Scalar


def holders(task: WrittenTask) -> list[Mapping]:
    """The task itself and, unless `input` is what a callee receives, its `input`."""
    if task.kind is None or task.kind.is_callee:
        return [task.node]
    below = [task.node.get(word) for word in ("args", "input")]
    return [task.node, *(node for node in below if isinstance(node, Mapping))]


def given_fields(task: WrittenTask, kind: Kind) -> dict[str, list[Scalar]]:
    """The keys under which each field is given, by the field's first name."""
    found: dict[str, list[Scalar]] = {}
    for node in holders(task):
        for entry in node.entries:
            name = entry.key.text
            is_task_name = name == "name" and node is task.node
            if name in kind.fields and not is_task_name:
                found.setdefault(kind.aliases.get(name, name), []).append(entry.key)
    return found
