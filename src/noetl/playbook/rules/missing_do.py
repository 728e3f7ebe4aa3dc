"""A rule of a task policy that does not say what to do."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.model import Directive
from noetl.playbook.reading import text
from noetl.playbook.rules.advice import meant
from noetl.playbook.rules.conditions import split_rules, task_rules
from noetl.playbook.rules.rule import Rule
from noetl.playbook.rules.wording import head
from noetl.playbook.source.nodes import Mapping

HINT = f"write `then: {{ do: … }}` with one of {', '.join(Directive)}"


def check(document: Document) -> Iterator[Diagnostic]:
    told, split = document.once(meant), split_rules(document)
    for rule in task_rules(document):
        node = rule.node
        holder = node.get("else") or node
        is_whole = id(node) not in split
        if is_whole and isinstance(holder, Mapping) and (holder is not node or node.get("when") is not None):
            yield from _report(holder, told)


def _report(holder: Mapping, told: frozenset[tuple[int, str]]) -> Iterator[Diagnostic]:
    key, then = holder.key("do"), holder.get("then")
    if key is not None:
        directive = text(holder, "do") or "…"
        yield RULE.at(
            key, '"do" stands beside "then"; expected it under "then"', f"write `then: {{ do: {directive} }}`"
        )
    elif then is None and (id(holder), "then") not in told:
        yield RULE.at(head(holder), 'the rule has no "then"; expected one that says what to do', HINT)
    elif isinstance(then, Mapping) and then.get("do") is None and (id(then), "do") not in told:
        yield RULE.at(head(then), 'the rule\'s "then" has no "do"', HINT)


RULE = Rule("NOE302", "missing-do", Severity.ERROR, check)
