"""The texts of tasks that another language reads: statements of SQL, and code that is never a template."""

from collections.abc import Iterator

import msgspec

from noetl.playbook.document import Document
from noetl.playbook.reading import child
from noetl.playbook.rules.written import WrittenTask, written_tasks
from noetl.playbook.source.nodes import Scalar


class CodeText(msgspec.Struct, frozen=True):
    """`key` is the field it stands in, such as `code` or `command`."""

    task: WrittenTask
    key: str
    node: Scalar


def code_texts(document: Document) -> list[CodeText]:
    """Code and scripts."""
    found = []
    for task in written_tasks(document):
        for key in task.kind.texts if task.kind is not None else ():
            node = task.node.get(key)
            if isinstance(node, Scalar) and isinstance(node.value, str):
                found.append(CodeText(task, key, node))
    return found


def sql_texts(document: Document) -> Iterator[CodeText]:
    """Statements, on the task or under its `input`."""
    for task in written_tasks(document):
        for key in task.kind.sql if task.kind is not None else ():
            for holder in (task.node, task.node.get("input"), task.node.get("args")):
                node = child(holder, key)
                if isinstance(node, Scalar) and isinstance(node.value, str):
                    yield CodeText(task, key, node)
