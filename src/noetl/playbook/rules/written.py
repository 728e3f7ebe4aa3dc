"""Steps and tasks as they stand in the text: where each name was written, and which tasks sugar generated."""

from collections.abc import Iterator

import msgspec

from noetl.playbook.document import Document
from noetl.playbook.kinds import Kind
from noetl.playbook.model import Block, Step, Task
from noetl.playbook.reading import mappings, text
from noetl.playbook.source.nodes import Mapping, Scalar
from noetl.playbook.structure import OldWord, sugar_word

LABELLED = "NOE606"
"""The code of the rule on v10 tasks, which notes their labels."""


class WrittenTask(msgspec.Struct, frozen=True):
    """`name` is where the name stands: the task's own, its label's, or that of the sugar it was generated from.

    `kind` is None when there is no such kind.
    """

    owner: Step | Block
    task: Task
    node: Mapping
    name: Scalar | None
    kind: Kind | None
    is_generated: bool

    @property
    def is_named(self) -> bool:
        """Whether the name is the author's and not made from a position or from sugar."""
        return self.name is not None and not self.is_generated


def title(owner: Step | Block) -> str:
    return f'step "{owner.name}"' if isinstance(owner, Step) else f'workbook block "{owner.name}"'


def owners(document: Document) -> list[Step | Block]:
    """Everything that has a pipeline."""
    return [*document.playbook.workflow, *document.playbook.workbook.values()]


def pipelines(document: Document) -> list[list[WrittenTask]]:
    words = (finding for finding in document.findings if isinstance(finding, OldWord) and finding.code == LABELLED)
    labels = {id(word.value): word.key for word in words if word.key is not None}
    return [[_written(document, owner, task, labels) for task in owner.tool] for owner in owners(document)]


def written_tasks(document: Document) -> Iterator[WrittenTask]:
    """The tasks of all pipelines, without those that sugar generated."""
    for pipeline in document.once(pipelines):
        yield from (task for task in pipeline if not task.is_generated)


def step_names(document: Document) -> list[str]:
    return [step.name for step in document.playbook.workflow]


def unclear_names(document: Document) -> frozenset[str]:
    """Texts in steps without a usable name: one of them is likely meant as the name."""
    nameless = (node for node in mappings(document.root, "workflow") if not text(node, "step"))
    entries = [entry for node in nameless for entry in node.entries]
    values = {entry.value.text for entry in entries if isinstance(entry.value, Scalar)}
    return frozenset(values | {entry.key.text for entry in entries if isinstance(entry.value, Mapping)})


def unclear_tasks(document: Document) -> frozenset[str]:
    """The same of tasks: a text in one without a name, or a key with nothing behind it."""
    nodes = [task.node for tasks in document.once(pipelines) for task in tasks if task.name is None]
    scalars = [(entry.key, entry.value) for node in nodes for entry in node.entries if isinstance(entry.value, Scalar)]
    return frozenset(key.text if value.value is None else value.text for key, value in scalars)


def _written(document: Document, owner: Step | Block, task: Task, labels: dict[int, Scalar]) -> WrittenTask:
    node = document.node(task)
    name = labels.get(id(node)) or node.get("name")
    return WrittenTask(
        owner=owner,
        task=task,
        node=node,
        name=name if isinstance(name, Scalar) else None,
        kind=document.vocabulary.kinds.get(task.kind),
        is_generated=sugar_word(node) is not None,
    )
