"""Words that the messages of the net analysis share."""

from collections.abc import Sequence

from noetl.playbook.document import Document
from noetl.playbook.model import AdmitRule, Arc, Block, Rule, Step, Task
from noetl.playbook.reading import child, mapping, mappings, text
from noetl.playbook.rules.judgement import node_of
from noetl.playbook.rules.wording import head
from noetl.playbook.rules.written import title
from noetl.playbook.source.nodes import Mapping, Node, Scalar
from noetl.playbook.structure import sugar_word

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
    """The `when` or `else` of a rule, in the sugar that it was made from if need be."""
    node = node_of(document, rule, *around)
    key = node.key("else") if rule.is_else else None
    return key or node.get("when") or _sugar_guard(node, rule) or head(node)


def _sugar_guard(node: Mapping, rule: Rule | AdmitRule) -> Node | None:
    branches = (*mappings(node, "choose"), *(mapping(node, word) for word in ("while", "until")))
    guards = [child(branch, "when") for branch in branches]
    return next((guard for guard in guards if isinstance(guard, Scalar) and guard.value == rule.when), None)


def sugar_name(document: Document, task: Task | None) -> str | None:
    """`while "again"`, where the task was made from that."""
    node = node_of(document, task) if task is not None else None
    word = sugar_word(node) if node is not None else None
    return f'`{word}` "{text(node, "name")}"' if word is not None else None


def owner_of(owner: Step | Block, task: Task | None) -> str:
    """Whose rule it is."""
    return f"the admission of {title(owner)}" if task is None else f'task "{task.name}" of {title(owner)}'


def quoted(names: Sequence[str], word: str = "and") -> str:
    """`"a", "b" and "c"`; of many the first."""
    shown = [f'"{name}"' for name in names[:NAMES_MAX]]
    if len(names) > NAMES_MAX:
        shown.append(f"{len(names) - NAMES_MAX} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} {word} {shown[-1]}"


def circle(word: str, names: Sequence[str]) -> str:
    """A circle as people draw it: `the steps "a" → "b" → "a" repeat`, `step "a" repeats`."""
    if len(names) == 1:
        return f'{word} "{names[0]}" repeats'
    if len(names) > NAMES_MAX:
        return f'the {len(names)} {word}s "{names[0]}" → … → "{names[0]}" repeat'
    arrows = " → ".join(f'"{name}"' for name in (*names, names[0]))
    return f"the {word}s {arrows} repeat"
