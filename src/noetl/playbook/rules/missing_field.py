"""A task without a field that its kind needs."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.kinds import Kind
from noetl.playbook.reading import child
from noetl.playbook.rules.advice import meant
from noetl.playbook.rules.fields import holders
from noetl.playbook.rules.rule import Rule
from noetl.playbook.rules.wording import called
from noetl.playbook.rules.written import WrittenTask, written_tasks
from noetl.playbook.source.nodes import Node
from noetl.playbook.structure import UnknownKey, is_merged


def check(document: Document) -> Iterator[Diagnostic]:
    told = document.once(meant) | _strays(document)
    for task in written_tasks(document):
        if task.kind is not None and not any(map(is_merged, holders(task))):
            around = {id(node) for node in (document.node(task.owner), *holders(task), task.node.get("spec"))}
            for group in _needed(task.kind):
                is_told = any((node, name) in told for node in around for name in group)
                if not is_told and not _has_any(task, group):
                    yield _report(task, task.kind, group)


def _strays(document: Document) -> frozenset[tuple[int, str]]:
    """Fields at a wrong place: the rule on unknown keys says where they belong."""
    unknown = (finding for finding in document.findings if isinstance(finding, UnknownKey))
    return frozenset((id(finding.parent), finding.key.text) for finding in unknown)


def _needed(kind: Kind) -> Iterator[tuple[str, ...]]:
    yield from ((field.name,) for field in kind.fields.values() if field.required)
    yield from kind.one_of


def _has_any(task: WrittenTask, group: tuple[str, ...]) -> bool:
    return any(node.get(name) is not None for node in holders(task) for name in group)


def _report(task: WrittenTask, kind: Kind, group: tuple[str, ...]) -> Diagnostic:
    names = [name for name in group if name not in kind.aliases]
    owner = called(task.node, f"{kind.name} task")
    quoted = " nor ".join(f'"{name}"' for name in names)
    message = f"{owner} has {'neither ' if len(names) > 1 else 'no '}{quoted}"
    below = [name for name in names if kind.is_callee and child(task.node.get("input"), name) is not None]
    if below:
        return RULE.at(_kind(task), message, f"move `{below[0]}` from `input` to the task: `input` is what it receives")
    place = "on the task" if kind.is_callee or "auth" in names else "under `input`"
    doc = kind.fields[names[0]].doc if names[0] in kind.fields else "The keychain entry or stored credential to use."
    return RULE.at(_kind(task), message, f"add `{names[0]}` {place}: {doc}")


def _kind(task: WrittenTask) -> Node:
    return task.node.get("kind") or task.node


RULE = Rule("NOE111", "missing-field", Severity.ERROR, check)
