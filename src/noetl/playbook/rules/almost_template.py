"""A value that was meant as a template but is none, or not only: other braces, a dollar sign, or nothing around it."""

import re
from collections.abc import Iterator

from noetl.expressions.lexer import CURLY_QUOTES
from noetl.expressions.template import parse
from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.code_texts import code_texts
from noetl.playbook.rules.rule import Part, Rule
from noetl.playbook.rules.spelling import respell
from noetl.playbook.source.nodes import Mapping, Node, Scalar, Sequence, Style
from noetl.playbook.source.scalars import quote

ALMOST = r"(?:\$\{|\$|\{)\s*((?:workload|ctx|input|iter|output|event|keychain)\.[A-Za-z_][\w.]*)\s*\}{0,2}"
"""`{ workload.url }`, `${workload.url}`, `$workload.url`, `{ workload.url }}`: the whole of a value."""


def check(document: Document) -> Iterator[Diagnostic]:
    for use in document.notes.templates:
        text = use.template.text
        if use.site.is_guard:
            continue
        if text.startswith("${{") and text.endswith("}}") and text.count("{{") == 1:
            message = "the `$` before the template is text: the value is a text that begins with it"
            hint = f"write {quote(text[1:])}; if the sign is meant, `{{{{ '$' ~ … }}}}` says so"
            yield RULE.in_template(document, use, Part(0, 1), message, hint)
        elif text[:1] in CURLY_QUOTES and text[-1:] in CURLY_QUOTES and use.node.style is Style.PLAIN:
            yield _curly(use.node)
    code = {id(text.node) for text in document.once(code_texts)}
    parameters = frozenset(f"workload.{key}" for key in document.playbook.workload)
    for node in _texts(document):
        path = _path(node.text, parameters)
        if path is not None and id(node) not in code:
            yield _report(node, f"{{{{ {path} }}}}")


def _curly(node: Scalar) -> Diagnostic:
    """Only straight quotes are quotes to YAML."""
    straight = quote(node.text[1:-1])
    message = f"the curly quotes {node.text[0]} and {node.text[-1]} are part of the text"
    return RULE.at(node, message, f"write {straight}", respell(node, straight))


def _report(node: Scalar, template: str) -> Diagnostic:
    message = "this is a text and not evaluated; a template stands between {{ and }}"
    return RULE.at(node, message, f"write {quote(template)}", respell(node, quote(template)))


def _path(text: str, parameters: frozenset[str]) -> str | None:
    """What the text would read, if it were a template."""
    if text in parameters:
        return text
    if not text.startswith(("$", "{")):
        return None
    found = re.fullmatch(ALMOST, text)
    return found[1] if found is not None and not parse(f"{{{{ {found[1]} }}}}").problems else None


def _texts(document: Document) -> Iterator[Scalar]:
    """The values of the workflow and the workbook; what an alias repeats, once."""
    waiting: list[Node] = [node for node in map(document.root.get, ("workflow", "workbook")) if node is not None]
    seen: set[int] = set()
    for node in waiting:
        if isinstance(node, Scalar):
            if isinstance(node.value, str):
                yield node
        elif id(node) not in seen:
            seen.add(id(node))
            waiting.extend(node.items if isinstance(node, Sequence) else _values(node))


def _values(node: Mapping) -> list[Node]:
    """A `when` is told by its own rule."""
    return [entry.value for entry in node.entries if entry.key.text not in ("when", "desc", "in")]


RULE = Rule("NOE515", "almost-template", Severity.WARNING, check)
