"""A keychain entry that is not declared."""

from collections.abc import Iterator

from noetl.expressions.template import Segment
from noetl.playbook.diagnostics import Diagnostic, Edit, Severity
from noetl.playbook.document import Document, TemplateUse
from noetl.playbook.rules.names import Sense, read_names
from noetl.playbook.rules.rule import Rule
from noetl.playbook.rules.spelling import Spelling, is_safe
from noetl.playbook.source.positions import replace_in_scalar


def check(document: Document) -> Iterator[Diagnostic]:
    declared = {entry.name for entry in document.playbook.keychain}
    spelling = Spelling(sorted(declared))
    for reading in document.once(read_names)[Sense.ENTRY]:
        for name in reading.names:
            if name.segments and name.segments[0].name not in declared:
                yield _report(document, reading.use, name.segments[0], spelling)


def _report(document: Document, use: TemplateUse, entry: Segment, spelling: Spelling) -> Diagnostic:
    message = f'the keychain has no entry "{entry.name}"'
    near = spelling.nearest(entry.name)
    if near is not None:
        fix = _respelt(document, use, entry, near)
        return RULE.in_template(document, use, entry, f'{message}; did you mean "{near}"?', fix=fix)
    hint = f"declare it:\n  keychain:\n    - name: {entry.name}\n      kind: secret_manager"
    if spelling.names:
        hint = f"{hint}\ndeclared are: {spelling.shown}"
    return RULE.in_template(document, use, entry, message, hint)


def _respelt(document: Document, use: TemplateUse, entry: Segment, near: str) -> list[Edit]:
    if use.template.text[entry.start : entry.end] != entry.name or not is_safe(entry.name, near):
        return []
    edit = replace_in_scalar(document.source, use.node, entry.start, entry.end, near)
    return [edit] if edit is not None else []


RULE = Rule("NOE509", "unknown-keychain-entry", Severity.ERROR, check)
