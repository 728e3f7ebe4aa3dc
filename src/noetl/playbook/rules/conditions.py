"""Lists of rules as they are written: task policies, admission and the branches of `choose`, right or wrong."""

from itertools import pairwise

import msgspec

from noetl.playbook.document import Document
from noetl.playbook.grammar.policies import RULE
from noetl.playbook.reading import mapping
from noetl.playbook.source.nodes import Mapping
from noetl.playbook.structure import RuleList


class WrittenRule(msgspec.Struct, frozen=True):
    """`then` is what the rule or its `else` does; None where it says nothing."""

    rules: RuleList
    node: Mapping
    then: Mapping | None

    @property
    def is_before(self) -> bool:
        return self.rules.field.name == "before"


CONDITIONS = frozenset({"when", "else", "expr"})


def rule_lists(document: Document) -> list[RuleList]:
    return document.once(_rule_lists)


def task_rules(document: Document) -> list[WrittenRule]:
    """Every rule of every task policy."""
    return document.once(_task_rules)


def unconditional(document: Document) -> list[Mapping]:
    """Rules and branches with neither a `when` nor an `else`."""
    return document.once(_unconditional)


def split_rules(document: Document) -> dict[int, Mapping]:
    """What a stray dash cut off, by the identity of the item it was cut from: `- when: …` and then `- then: …`."""
    return document.once(_split_rules)


def _split_rules(document: Document) -> dict[int, Mapping]:
    found = {}
    for rules in rule_lists(document):
        written = items(rules)
        for one, other in pairwise(written):
            if one.keys() == {"when"} and other.keys() in ({"then"}, {"tool"}):
                found[id(one)] = other
    return found


def _unconditional(document: Document) -> list[Mapping]:
    return [item for rules in rule_lists(document) for item in items(rules) if not item.keys() & CONDITIONS]


def _rule_lists(document: Document) -> list[RuleList]:
    return [finding for finding in document.findings if isinstance(finding, RuleList)]


def _task_rules(document: Document) -> list[WrittenRule]:
    return [
        WrittenRule(rules, item, mapping(item, "then") or mapping(mapping(item, "else"), "then"))
        for rules in rule_lists(document)
        if rules.shape is RULE
        for item in items(rules)
    ]


def items(rules: RuleList) -> list[Mapping]:
    return [item for item in rules.node.items if isinstance(item, Mapping)]
