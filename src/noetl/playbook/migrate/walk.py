"""Goes through a document's nodes: steps, tasks, rules and what they say, each once even where aliases repeat it."""

from collections.abc import Iterator

import msgspec

from noetl.playbook.reading import child, entries, mapping, mappings, text
from noetl.playbook.source.nodes import Mapping, Node, Scalar, Sequence
from noetl.playbook.structure import labelled, sugar_word


class TaskNode(msgspec.Struct, frozen=True):
    """A task's mapping. `owner` is the step or workbook block, `item` the list's item: the body itself or a label's."""

    body: Mapping
    owner: Mapping
    item: Mapping
    label: Scalar | None = None

    @property
    def name(self) -> str | None:
        return self.label.text if self.label is not None else text(self.body, "name")


def steps(root: Mapping) -> list[Mapping]:
    return mappings(root, "workflow")


def owners(root: Mapping) -> list[Mapping]:
    """Whatever has a pipeline: steps and workbook blocks."""
    blocks = [entry.value for entry in entries(root, "workbook") if isinstance(entry.value, Mapping)]
    return [*steps(root), *blocks]


def tasks(root: Mapping) -> Iterator[TaskNode]:
    seen: set[int] = set()
    for owner in owners(root):
        for task in tasks_of(owner):
            if task.body.start not in seen:
                seen.add(task.body.start)
                yield task


def tasks_of(owner: Mapping) -> Iterator[TaskNode]:
    yield from _tasks_in(owner.get("tool"), owner)


def _tasks_in(tool: Node | None, owner: Mapping) -> Iterator[TaskNode]:
    if isinstance(tool, Mapping):
        yield TaskNode(tool, owner, tool)
    for item in tool.items if isinstance(tool, Sequence) else ():
        if isinstance(item, Mapping):
            yield from _tasks_of_item(item, owner)


def _tasks_of_item(item: Mapping, owner: Mapping) -> Iterator[TaskNode]:
    word, named = sugar_word(item), labelled(item)
    if word is not None:
        yield from _sugar_tasks(item, word, owner)
    elif named is not None:
        yield TaskNode(named[1], owner, item, named[0])
    else:
        yield TaskNode(item, owner, item)


def _sugar_tasks(item: Mapping, word: str, owner: Mapping) -> Iterator[TaskNode]:
    if word != "choose":
        yield from _tasks_in(child(item.get(word), "tool"), owner)
    for branch in mappings(item, "choose"):
        yield from _tasks_in(branch.get("tool"), owner)
        yield from _tasks_in(child(branch.get("else"), "tool"), owner)


def rules(root: Mapping) -> Iterator[Mapping]:
    """Every rule of every task's policy."""
    seen: set[int] = set()
    for task in tasks(root):
        policy = mapping(mapping(task.body, "spec"), "policy")
        for word in ("rules", "before"):
            for rule in mappings(policy, word):
                if rule.start not in seen:
                    seen.add(rule.start)
                    yield rule


def thens(root: Mapping) -> Iterator[Mapping]:
    """What the rules of task policies say: each `then`, also that of an `else`."""
    for rule in rules(root):
        for holder in (rule, mapping(rule, "else")):
            then = mapping(holder, "then")
            if then is not None:
                yield then


def arcs(step: Mapping) -> list[Mapping]:
    return mappings(mapping(step, "next"), "arcs")


def scalars(node: Node) -> Iterator[Scalar]:
    """Every key and every scalar inside, in the order of the file."""
    if isinstance(node, Scalar):
        yield node
    elif isinstance(node, Sequence):
        for item in node.items:
            yield from scalars(item)
    else:
        for entry in node.entries:
            yield entry.key
            yield from scalars(entry.value)
