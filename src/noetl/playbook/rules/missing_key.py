"""A key that has to be there and is not."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Edit, Severity
from noetl.playbook.document import Document
from noetl.playbook.grammar.policies import ADMIT, ADMIT_RULE, ELSE, TASK_POLICY, THEN
from noetl.playbook.grammar.root import API_VERSION, PLAYBOOK
from noetl.playbook.grammar.tasks import CHOICE_BRANCH, SUGAR
from noetl.playbook.rules.advice import meant
from noetl.playbook.rules.conditions import items, rule_lists, split_rules
from noetl.playbook.rules.rule import Rule
from noetl.playbook.rules.wording import called, head
from noetl.playbook.shape import Field, Shape
from noetl.playbook.source.nodes import Mapping, Node
from noetl.playbook.structure import MissingKey, OldWord

SPOKEN_OF_ELSEWHERE = (TASK_POLICY, ADMIT, THEN, ELSE)
"""What these lack is told by the rules on policies."""

MISPLACED = "NOE303"

CONSTANTS = {"apiVersion": API_VERSION, "kind": "Playbook"}

BODIES = {ADMIT_RULE.title: "then", CHOICE_BRANCH.title: "tool"}
"""What an item with a `when` has to have too."""


def check(document: Document) -> Iterator[Diagnostic]:
    told = document.once(meant)
    answered = _answered(document)
    for parent, shape, field in (*_missing(document), *_bodiless(document)):
        names = {field.name, *SUGAR} if field.name == "kind" else {field.name}
        if id(parent) not in answered and not told & {(id(parent), name) for name in names}:
            yield _report(document, parent, shape, field)


def _answered(document: Document) -> frozenset[int]:
    """Admission that answers with a directive: the rule on that says what to write instead."""
    words = (finding for finding in document.findings if isinstance(finding, OldWord))
    return frozenset(id(word.parent) for word in words if word.code == MISPLACED)


def _missing(document: Document) -> Iterator[tuple[Mapping, Shape, Field]]:
    for finding in document.findings:
        if isinstance(finding, MissingKey) and not any(finding.shape is shape for shape in SPOKEN_OF_ELSEWHERE):
            yield finding.parent, finding.shape, finding.field


def _bodiless(document: Document) -> Iterator[tuple[Mapping, Shape, Field]]:
    """Items with a condition and nothing that follows from it, unless only a dash parts the two."""
    split = split_rules(document)
    for rules in rule_lists(document):
        body = rules.shape.fields.get(BODIES.get(rules.shape.title, ""))
        if body is not None:
            done = {"else", body.name}
            bare = (item for item in items(rules) if item.get("when") is not None and not item.keys() & done)
            yield from ((item, rules.shape, body) for item in bare if id(item) not in split)


def _report(document: Document, parent: Mapping, shape: Shape, field: Field) -> Diagnostic:
    name = field.name
    message = f'{called(parent, shape.title)} has no "{name}"'
    if shape is PLAYBOOK and name in CONSTANTS:
        line = f"{name}: {CONSTANTS[name]}"
        return RULE.at(head(parent), message, f"add the line `{line}`", _first_line(parent, line))
    return RULE.at(head(parent), message, _task_hint(document, parent, name) or f"add `{name}`: {field.doc}")


def _first_line(root: Mapping, line: str) -> list[Edit]:
    if root.flow or root.column != 1:
        return []
    return [Edit(root.start, root.start, f"{line}\n")]


def _task_hint(document: Document, node: Mapping, name: str) -> str | None:
    """Which `kind` a task is most likely of, by its other keys."""
    if name != "kind":
        return None
    labels = [entry.key.text for entry in node.entries if _is_task(entry.value)]
    if labels:
        return f"several tasks are a list, each with its name: `- name: {labels[0]}`"
    given = node.keys() | _keys(node.get("input"))
    kinds = [kind.name for kind in document.vocabulary.kinds.values() if given & kind.fields.keys() - {"name"}]
    return f"add `kind: {' or '.join(kinds)}`" if kinds else None


def _is_task(node: Node) -> bool:
    return isinstance(node, Mapping) and node.get("kind") is not None


def _keys(node: Node | None) -> frozenset[str]:
    return frozenset(node.keys()) if isinstance(node, Mapping) else frozenset()


RULE = Rule("NOE102", "missing-key", Severity.ERROR, check)
