"""Two keychain entries of one name."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.rule import Rule
from noetl.playbook.source.nodes import Node


def check(document: Document) -> Iterator[Diagnostic]:
    first: dict[str, Node] = {}
    for entry in document.playbook.keychain:
        node = document.node(entry)
        name = node.get("name") or node
        other = first.setdefault(entry.name, name)
        if other is not name:
            message = f'keychain entry "{entry.name}" is already on line {other.line}'
            yield RULE.at(name, message, "rename one of them, or delete it")


RULE = Rule("NOE209", "duplicate-keychain-entry", Severity.ERROR, check)
