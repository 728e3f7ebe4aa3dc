"""A key that the language does not have at that place."""

from collections.abc import Iterator

from noetl.errors import closest
from noetl.playbook.diagnostics import Diagnostic, Edit, Severity
from noetl.playbook.document import Document
from noetl.playbook.nodes import Scalar
from noetl.playbook.rules.rule import Rule
from noetl.playbook.structure import UnknownKey


def check(document: Document) -> Iterator[Diagnostic]:
    read = _read_inputs(document)
    for finding in document.findings:
        if isinstance(finding, UnknownKey) and not (_is_input(finding) and finding.key.text in read):
            yield _report(finding)


def _report(finding: UnknownKey) -> Diagnostic:
    key, words = finding.key, finding.shape.words
    message = f'unknown key "{key.text}" in {finding.shape.title}'
    if _is_label(finding):
        return RULE.at(key, message, f"to name the task write `name: {key.text}`")
    if key.text == "<<":
        return RULE.at(key, message, "merge keys are not part of YAML 1.2: write the keys out")
    near = closest(key.text, [word for word in words if finding.parent.get(word) is None])
    if near is not None:
        return RULE.at(key, f'{message}; did you mean "{near}"?', _possible(words), [Edit(key.start, key.end, near)])
    return RULE.at(key, message, _possible(words))


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
    return f"keys possible here: {', '.join(words)}" if words else "no keys are possible here"


RULE = Rule("NOE101", "unknown-key", Severity.ERROR, check)
