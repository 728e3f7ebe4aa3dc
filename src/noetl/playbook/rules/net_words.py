"""Words that the messages of the net analysis share."""

from collections.abc import Sequence

from noetl.playbook.document import Document
from noetl.playbook.model import AdmitRule, Arc, Block, Rule, Step, Task
from noetl.playbook.nodes import Node
from noetl.playbook.rules.judgement import node_of
from noetl.playbook.rules.written import title

NAMES_MAX = 5


def step_name(document: Document, step: Step) -> Node:
    """Where the step is named."""
    node = document.node(step)
    return node.get("step") or node


def arc_target(document: Document, arc: Arc) -> Node:
    node = document.node(arc)
    return node.get("step") or node


def arc_guard(document: Document, arc: Arc) -> Node:
    """The `when`, or the target where there is none."""
    return document.node(arc).get("when") or arc_target(document, arc)


def rule_guard(document: Document, rule: Rule | AdmitRule, *around: object) -> Node:
    """The `when` or `else` of a rule; the sugar it was made from where nobody wrote it."""
    node = node_of(document, rule, *around)
    key = node.key("else") if rule.is_else else None
    return key or node.get("when") or node


def owner_of(owner: Step | Block, task: Task | None) -> str:
    """Whose rule it is."""
    return f"the admission of {title(owner)}" if task is None else f'task "{task.name}" of {title(owner)}'


def quoted(names: Sequence[str], word: str = "and") -> str:
    """`"a", "b" and "c"`; of many the first."""
    shown = [f'"{name}"' for name in names[:NAMES_MAX]]
    if len(names) > NAMES_MAX:
        shown.append(f"{len(names) - NAMES_MAX} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} {word} {shown[-1]}"


def chain(names: Sequence[str]) -> str:
    """A circle as people draw it: `"a" → "b" → "a"`."""
    if len(names) > NAMES_MAX:
        return f'"{names[0]}" → … ({len(names)} of them) → "{names[0]}"'
    return " → ".join(f'"{name}"' for name in (*names, names[0]))
