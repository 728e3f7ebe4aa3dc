"""`when` on a step becomes admission, `when` on a task becomes a rule that is read before the tool runs."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Edit
from noetl.playbook.document import Document
from noetl.playbook.migrate.compose import New, cut_entry, put, replace_entry, tail
from noetl.playbook.migrate.evals import DEFAULT_RULES
from noetl.playbook.migrate.rewrite import Rewrite, Untranslatable, attempt
from noetl.playbook.migrate.walk import steps, tasks
from noetl.playbook.reading import mapping
from noetl.playbook.source.nodes import Entry, Mapping

CODE = "NOE702"


def rewrite_guards(document: Document) -> Iterator[Rewrite]:
    text = document.source.text
    for step in steps(document.root):
        entry = step.entry("when")
        if entry is not None:
            what = "moved `when` to `spec.policy.admit`"
            yield attempt(CODE, entry.key.span, what, _admitted, text, step, entry)
    for task in tasks(document.root):
        entry = task.body.entry("when")
        if entry is not None:
            what = "moved `when` to `spec.policy.before`"
            yield attempt(CODE, entry.key.span, what, _before, text, task.body, entry)


def _admitted(text: str, step: Mapping, entry: Entry) -> list[Edit]:
    rules: list[New] = [
        {"when": tail(text, entry, step), "then": "{ allow: true }"},
        {"else": {"then": "{ allow: false }"}},
    ]
    return replace_entry(text, step, entry, ("spec", "policy", "admit", "rules"), rules)


def _before(text: str, body: Mapping, entry: Entry) -> list[Edit]:
    rules: list[New] = [
        {"when": tail(text, entry, body), "then": "{ do: continue }"},
        {"else": {"then": "{ do: skip }"}},
    ]
    if body.get("eval") is not None or body.get("retry") is not None:
        raise Untranslatable("it stands beside `eval` or `retry`, which have to go first")
    if mapping(mapping(body, "spec"), "policy") is not None:
        return [*put(text, body, ("spec", "policy", "before"), rules), cut_entry(text, entry, body)]
    return replace_entry(text, body, entry, ("spec", "policy"), {"before": rules, "rules": DEFAULT_RULES})
