"""A key that the language does not have at that place."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.advice import NONE, Advice, advice
from noetl.playbook.rules.forms import space_behind_colon
from noetl.playbook.rules.policy_shape import is_of_bare_rule
from noetl.playbook.rules.rule import Rule
from noetl.playbook.rules.spelling import correct
from noetl.playbook.rules.wording import listed
from noetl.playbook.source.nodes import Scalar
from noetl.playbook.source.tree import shorten
from noetl.playbook.structure import UnknownKey


def check(document: Document) -> Iterator[Diagnostic]:
    unknown = [finding for finding in document.findings if isinstance(finding, UnknownKey)]
    read = _read_inputs(document) if unknown else frozenset()
    for finding in unknown:
        is_own = _is_input(finding) and finding.key.text in read
        if not is_own and not is_of_bare_rule(finding):
            yield _report(finding, document.once(advice).get(id(finding.key), NONE))


def _report(finding: UnknownKey, known: Advice) -> Diagnostic:
    key, possible = finding.key, known.hint or _possible(finding.shape.words)
    message = f'unknown key "{shorten(key.text)}" in {finding.shape.title}'
    if _is_label(finding):
        return RULE.at(key, message, f"to name the task write `name: {key.text}`")
    if known.place is not None:
        return RULE.at(key, f"{message}; it belongs {known.place}", possible)
    if known.word is None:
        return RULE.at(key, message, possible, space_behind_colon(key) if known.is_tight else [])
    fix = correct(key, known.word) if known.is_near else []
    return RULE.at(key, f'{message}; did you mean "{known.word}"?', possible, fix)


def _is_input(finding: UnknownKey) -> bool:
    """A value under a task's `input` that a template reads is the author's own."""
    return finding.shape.title.endswith(" input")


def _read_inputs(document: Document) -> frozenset[str]:
    return frozenset(
        use.segments[0].name
        for template in document.notes.templates
        for use in template.template.names
        if use.root in ("input", "args") and use.segments
    )


def _is_label(finding: UnknownKey) -> bool:
    """`- fetch:` with the task's keys beside it instead of under it."""
    value = finding.parent.get(finding.key.text)
    return isinstance(value, Scalar) and value.value is None and finding.parent.get("kind") is not None


def _possible(words: list[str]) -> str:
    return f"keys possible here: {listed(words)}" if words else "no keys are possible here"


RULE = Rule("NOE101", "unknown-key", Severity.ERROR, check)
