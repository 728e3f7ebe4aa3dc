"""Two steps of one name."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.aliases import Aliases
from noetl.playbook.rules.rule import Rule
from noetl.playbook.source.nodes import Node


def check(document: Document) -> Iterator[Diagnostic]:
    first: dict[str, Node] = {}
    aliases = Aliases(document.source)
    for step in document.playbook.workflow:
        node = document.node(step)
        name = node.get("step") or node
        other = first.get(step.name)
        if other is None:
            first[step.name] = name
        elif other is name:
            message = f'an alias repeats step "{step.name}" of line {name.line}; step names are unique'
            yield RULE.at(aliases.next_of(node) or name, message, "write the second step out under a name of its own")
        else:
            message = f'step "{step.name}" is already on line {other.line}; step names are unique'
            yield RULE.at(name, message, "rename one of them, and the arcs that lead to it")


RULE = Rule("NOE201", "duplicate-step", Severity.ERROR, check)
