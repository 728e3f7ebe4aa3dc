"""A `when` that is neither a boolean nor exactly one `{{ … }}`."""

import re
from collections.abc import Iterator, Sequence

from noetl.expressions.lexer import CURLY_QUOTES
from noetl.expressions.template import parse
from noetl.playbook.diagnostics import Diagnostic, Edit, Severity
from noetl.playbook.document import Document, TemplateUse
from noetl.playbook.rules.rule import Rule
from noetl.playbook.rules.spelling import respell
from noetl.playbook.rules.wording import found
from noetl.playbook.source.nodes import Node, Scalar
from noetl.playbook.source.scalars import quote
from noetl.playbook.structure import BadGuard

EXPECTED = '"when" takes true, false or exactly one {{ … }}'

CURLY = "the curly quotes around it are part of the text; YAML knows the straight ones, ' and \""

ONE = r"\{\{-?\s*(.*?)\s*-?\}\}"

WORDS = {"true": "true", "yes": "true", "on": "true", "false": "false", "no": "false", "off": "false"}


def check(document: Document) -> Iterator[Diagnostic]:
    for finding in document.findings:
        if isinstance(finding, BadGuard):
            yield _report(finding.node)
    for use in document.notes.templates:
        if use.site.is_guard and not use.template.is_guard and not use.template.problems:
            yield RULE.at(use.node, f"{EXPECTED}; found {_shape(use)}", *_drawn_together(use))


def _report(node: Node) -> Diagnostic:
    message = f"{EXPECTED}; found {found(node)}"
    if not isinstance(node, Scalar) or not isinstance(node.value, str):
        return RULE.at(node, message, "write the condition inside one {{ … }}")
    word = WORDS.get(node.text.strip().lower())
    if word is not None:
        return RULE.at(node, message, f"write `when: {word}`", respell(node, word))
    return RULE.at(node, message, *_wrapped(node))


def _wrapped(node: Scalar) -> tuple[str, Sequence[Edit]]:
    """The text as an expression, if it is one."""
    wrapped = f"{{{{ {' '.join(node.text.split())} }}}}"
    template = parse(wrapped)
    if template.problems or not template.is_guard:
        return "write the condition inside one {{ … }}", []
    return f"write `when: {quote(wrapped)}`", respell(node, quote(wrapped))


def _drawn_together(use: TemplateUse) -> tuple[str, Sequence[Edit]]:
    text = use.template.text.strip()
    inner = text[1:-1]
    if text[0] in CURLY_QUOTES and text[-1] in CURLY_QUOTES and parse(inner).is_guard:
        return CURLY, respell(use.node, quote(inner))
    if text[0] == "$" and parse(text[1:]).is_guard:
        return f"leave the `$` out: {quote(text[1:])}", respell(use.node, quote(text[1:]))
    return _joined(use.template.text), []


def _joined(text: str) -> str:
    """The text with its templates drawn together into one, if that is an expression."""
    inner = re.sub(ONE, r"(\1)", text)
    joined = f"{{{{ {inner} }}}}"
    template = parse(joined)
    if template.problems or not template.is_guard:
        return "write the whole condition inside one {{ … }}"
    return f"write the whole condition inside one {{{{ … }}}}: {quote(joined)}"


def _shape(use: TemplateUse) -> str:
    if "{%" in use.template.text:
        return "statements"
    return "several {{ … }}" if use.template.text.count("{{") > 1 else "text around it"


RULE = Rule("NOE308", "bad-guard", Severity.ERROR, check)
