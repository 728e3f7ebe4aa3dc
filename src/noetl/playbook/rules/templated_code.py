"""A template in code or a script, which reach the interpreter as they are written."""

from collections.abc import Iterator

from noetl.expressions.template import parse
from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.code_texts import CodeText, code_texts
from noetl.playbook.rules.rule import Part, Rule
from noetl.playbook.rules.scopes_in_text import find_tag
from noetl.playbook.source.positions import locate


def check(document: Document) -> Iterator[Diagnostic]:
    for text in document.once(code_texts):
        part = find_tag(text.node.text)
        if part is not None:
            yield _report(document, text, part)


def _report(document: Document, text: CodeText, part: Part) -> Diagnostic:
    tag = text.node.text[part.start : part.end]
    first = parse(tag).names[0]
    name = first.segments[-1].name if first.segments else "value"
    message = f"`{text.key}` is never a template: {tag} stays as it is"
    used = f"`{name}`" if text.key == "code" else f'`"${name}"`'
    hint = f'pass the value through `input` and use {used} in the {text.key}:\n  input:\n    {name}: "{tag}"'
    if first.root in ("input", "args"):
        hint = f"use {used}: the {text.key} receives each `input` by its name"
    return RULE.at(locate(document.source, text.node, part.start, part.end).span, message, hint)


RULE = Rule("NOE902", "templated-code", Severity.WARNING, check)
