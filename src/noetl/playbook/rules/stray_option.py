"""An option of another directive than the one the rule gives."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.model import Directive
from noetl.playbook.reading import text
from noetl.playbook.rules.conditions import task_rules
from noetl.playbook.rules.rule import Rule

OWNERS = {
    **dict.fromkeys(("attempts", "backoff", "delay", "max_delay", "jitter"), Directive.RETRY),
    "to": Directive.JUMP,
}


def check(document: Document) -> Iterator[Diagnostic]:
    for rule in task_rules(document):
        directive = text(rule.then, "do")
        for entry in rule.then.entries if rule.then is not None and directive in set(Directive) else ():
            owner = OWNERS.get(entry.key.text)
            if owner is not None and owner != directive:
                message = f'"{entry.key.text}" has no effect with `do: {directive}`; it belongs to `do: {owner}`'
                yield RULE.at(entry.key, message, f"delete it, or write `do: {owner}`")


RULE = Rule("NOE305", "stray-option", Severity.WARNING, check)
