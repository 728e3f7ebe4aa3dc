"""A rule with neither `when` nor `else`, or with both."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.advice import meant
from noetl.playbook.rules.conditions import CONDITIONS, items, rule_lists, split_rules
from noetl.playbook.rules.rule import Rule
from noetl.playbook.rules.wording import head


def check(document: Document) -> Iterator[Diagnostic]:
    told = document.once(meant)
    cut = {id(item) for item in split_rules(document).values()}
    for rules in rule_lists(document):
        for item in items(rules):
            title, other = rules.shape.title, item.key("else")
            if other is not None and item.get("when") is not None:
                message = f"the {title} has both `when` and `else`; expected one of them"
                yield RULE.at(other, message, "make two of it: `else` takes what no `when` took")
            elif id(item) in cut:
                key = item.entries[0].key
                yield RULE.at(key, f"a dash parts this `{key.text}` from its `when`", "remove the dash before it")
            elif not item.keys() & CONDITIONS and not told & {(id(item), "when"), (id(item), "else")}:
                message = f"the {title} has neither `when` nor `else`"
                yield RULE.at(head(item), message, 'add the condition: `when: "{{ … }}"`, or make it the `else`')


RULE = Rule("NOE309", "rule-without-condition", Severity.ERROR, check)
