"""One `set` that writes the same path twice, or a path and one inside it."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document, SetUse
from noetl.playbook.reading import SCOPES
from noetl.playbook.rules.rule import Rule

DEPTH_MAX = 32
"""Paths are compared this deep."""

PATHS = tuple(f"{scope}." for scope in SCOPES)


def check(document: Document) -> Iterator[Diagnostic]:
    for uses in _by_set(document):
        yield from _conflicts(uses)


def _by_set(document: Document) -> Iterator[dict[str, list[SetUse]]]:
    """The targets of each `set` that has several, in the order of the file."""
    found: dict[int, list[SetUse]] = {}
    for use in document.notes.sets:
        if use.target.startswith(PATHS):
            found.setdefault(id(use.place), []).append(use)
    for uses in found.values():
        if len(uses) > 1:
            targets: dict[str, list[SetUse]] = {}
            for use in sorted(uses, key=lambda use: use.key.start):
                targets.setdefault(use.target, []).append(use)
            yield targets


def _conflicts(targets: dict[str, list[SetUse]]) -> Iterator[Diagnostic]:
    for target, uses in targets.items():
        for use in uses[1:]:
            message = f'"{target}" is written twice in one `set`, here and on line {uses[0].key.line}'
            yield RULE.at(use.key, message, "keep one of the two")
        outer = _outer(target, targets)
        if outer is not None:
            line = targets[outer][0].key.line
            message = f'one `set` writes "{outer}" (line {line}) and "{target}", which is inside it'
            yield RULE.at(uses[0].key, message, f'put it into the value of "{outer}", or set it in a later task')


def _outer(target: str, targets: dict[str, list[SetUse]]) -> str | None:
    path = ""
    for part in target.split(".", DEPTH_MAX)[:-1]:
        path = f"{path}.{part}" if path else part
        if path in targets:
            return path
    return None


RULE = Rule("NOE409", "set-conflict", Severity.ERROR, check)
