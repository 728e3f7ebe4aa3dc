"""A task policy that says nothing for the case that no rule matches."""

from collections.abc import Iterator

from noetl.expressions.template import parse
from noetl.playbook.diagnostics import Diagnostic, Edit, Severity
from noetl.playbook.document import Document
from noetl.playbook.grammar.policies import RULE as TASK_RULE
from noetl.playbook.rules.advice import meant
from noetl.playbook.rules.conditions import rule_lists
from noetl.playbook.rules.rule import Rule
from noetl.playbook.source.nodes import Mapping, Node, Scalar, Sequence, Source
from noetl.playbook.structure import RuleList

MESSAGE = "these rules have no `else`: an output that none of them matches goes on as `continue`, errors too"
HINT = "say what then happens:\n- else:\n    then: { do: continue }"


def check(document: Document) -> Iterator[Diagnostic]:
    told = document.once(meant)
    for rules in rule_lists(document):
        is_task_policy = rules.shape is TASK_RULE and rules.field.name == "rules"
        if is_task_policy and rules.parent.get("on_unmatched") is None and not _is_whole(rules, told):
            key = rules.parent.key("rules")
            yield RULE.at(key or rules.node, MESSAGE, HINT, _else_below(document.source, rules))


def _is_whole(rules: RuleList, told: frozenset[tuple[int, str]]) -> bool:
    """Whether one of the rules takes what is left, be it that its `else` is misspelt."""
    return any(_takes_all(item) or (id(item), "else") in told for item in rules.node.items)


def _takes_all(item: Node) -> bool:
    """Whether nothing is left for an `else`; what is no rule at all is given the benefit of the doubt."""
    if not isinstance(item, Mapping) or item.get("else") is not None:
        return True
    when = item.get("when")
    if not isinstance(when, Scalar):
        return False
    return when.value is True or (isinstance(when.value, str) and parse(when.value).constant is True)


def _else_below(source: Source, rules: RuleList) -> list[Edit]:
    """The `else` as lines of their own below the last rule, where the list is written as lines."""
    last = _last_line(source, rules.node)
    if last is None:
        return []
    indent = " " * (rules.node.column - 1)
    line_break = "\r\n" if source.text.startswith("\r\n", last) else "\n"
    return [Edit(last, last, f"{line_break}{indent}- else:{line_break}{indent}    then: {{ do: continue }}")]


def _last_line(source: Source, node: Sequence) -> int | None:
    """The end of the line on which a block list ends; None where it ends in a block of text, and so lines below."""
    if node.flow or not node.items or source.text[node.end - 1] in "\r\n":
        return None
    line = node.end_line
    return source.lines.start(line) + len(source.lines.line_text(line))


RULE = Rule("NOE306", "missing-else", Severity.WARNING, check)
