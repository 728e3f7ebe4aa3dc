"""A jump to a task that is not in the same pipeline."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.model import Directive, Then
from noetl.playbook.rules.names import known_names
from noetl.playbook.rules.rule import Rule
from noetl.playbook.rules.spelling import Spelling, correct, respell
from noetl.playbook.rules.written import WrittenTask, pipelines, title
from noetl.playbook.source.nodes import Scalar


def check(document: Document) -> Iterator[Diagnostic]:
    homes, known_here = _homes(document), document.once(known_names)
    steps, unclear = known_here.steps, known_here.unclear
    for tasks in document.once(pipelines):
        names = [task.task.name for task in tasks]
        known, spelling, sugar = unclear.union(names), Spelling(names), _sugar(tasks)
        for task, then in _jumps(tasks):
            target = document.node(then).get("to")
            if isinstance(target, Scalar) and target.text not in known:
                hint = _elsewhere(target.text, homes, steps)
                yield _report(task, target, spelling, sugar.get(target.text), hint)


def _homes(document: Document) -> dict[str, str]:
    """Of every name one pipeline that has a task of that name."""
    return {task.task.name: title(task.owner) for tasks in document.once(pipelines) for task in tasks}


def _sugar(tasks: list[WrittenTask]) -> dict[str, str]:
    """The first generated task of each `choose`, `while` and `until`, by the name of the whole."""
    first: dict[str, str] = {}
    for task in tasks:
        if task.is_generated and task.name is not None:
            first.setdefault(task.name.text, task.task.name)
    return first


def _jumps(tasks: list[WrittenTask]) -> Iterator[tuple[WrittenTask, Then]]:
    for task in tasks:
        policy = task.task.policy
        if policy is not None and not task.is_generated:
            thens = (rule.then for rule in (*policy.before, *policy.rules))
            yield from ((task, then) for then in thens if then.do is Directive.JUMP)


def _elsewhere(name: str, homes: dict[str, str], steps: frozenset[str]) -> str | None:
    """What to do where the name is known, but not in this pipeline."""
    if name in homes:
        return f"{homes[name]} has such a task, but a jump stays in its pipeline; use an arc"
    return f'"{name}" is a step: an arc under `next` leads there, after `do: break`' if name in steps else None


def _report(task: WrittenTask, target: Scalar, spelling: Spelling, entry: str | None, hint: str | None) -> Diagnostic:
    message = f'task "{task.task.name}" jumps to "{target.text}", which is not a task of {title(task.owner)}'
    if entry is not None:
        return RULE.at(target, message, f'it begins with the task "{entry}": jump there', respell(target, entry))
    if hint is not None:
        return RULE.at(target, message, hint)
    near = spelling.nearest(target.text)
    if near is None:
        return RULE.at(target, message, f"use one of: {spelling.shown}")
    return RULE.at(target, f'{message}; did you mean "{near}"?', fix=correct(target, near))


RULE = Rule("NOE205", "unknown-jump-target", Severity.ERROR, check)
