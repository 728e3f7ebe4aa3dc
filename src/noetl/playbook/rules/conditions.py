"""Lists of rules as they are written: task policies, admission and the branches of `choose`, right or wrong."""

from collections.abc import Iterator

import msgspec

from noetl.playbook.document import Document
from noetl.playbook.grammar.policies import RULE
from noetl.playbook.nodes import Mapping
from noetl.playbook.reading import mapping
from noetl.playbook.structure import RuleList


class WrittenRule(msgspec.Struct, frozen=True):
    """`then` is what the rule or its `else` does; None where it says nothing."""

    rules: RuleList
    node: Mapping
    then: Mapping | None

    @property
    def is_before(self) -> bool:
        return self.rules.field.name == "before"


def rule_lists(document: Document) -> Iterator[RuleList]:
    return (finding for finding in document.findings if isinstance(finding, RuleList))


def task_rules(document: Document) -> Iterator[WrittenRule]:
    """Every rule of every task policy."""
    for rules in rule_lists(document):
        if rules.shape is RULE:
            for item in items(rules):
                yield WrittenRule(rules, item, mapping(item, "then") or mapping(mapping(item, "else"), "then"))


def items(rules: RuleList) -> list[Mapping]:
    return [item for item in rules.node.items if isinstance(item, Mapping)]
