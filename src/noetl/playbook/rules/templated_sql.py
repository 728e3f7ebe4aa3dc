"""A template inside a statement of SQL."""

from collections.abc import Iterator

from noetl.expressions.template import is_template, parse
from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.code_texts import CodeText, sql_texts
from noetl.playbook.rules.rule import Part, Rule
from noetl.playbook.source.positions import locate

SHOWN_MAX = 60


def check(document: Document) -> Iterator[Diagnostic]:
    for text in sql_texts(document):
        if is_template(text.node.text):
            yield from _check(document, text)


def _check(document: Document, text: CodeText) -> Iterator[Diagnostic]:
    """One word for each statement, at its first tag."""
    statement = text.node.text
    template = parse(statement)
    part = _first_tag(statement)
    if template.problems or part is None:
        return
    span = locate(document.source, text.node, part.start, part.end).span
    if template.is_guard:
        message = "the whole statement comes from a template: whoever gives the value decides what the database runs"
        yield RULE.at(span, message, "write the statement here and pass only values, through `params`")
    else:
        message = "a template inside SQL: a value with a quote in it can change what the statement means"
        yield RULE.at(span, message, _hint(statement, part))


def _first_tag(statement: str) -> Part | None:
    starts = [start for start in map(statement.find, ("{{", "{%")) if start >= 0]
    if not starts:
        return None
    start = min(starts)
    end = statement.find("}}" if statement[start + 1] == "{" else "%}", start)
    return Part(start, end + 2)


def _hint(statement: str, part: Part) -> str:
    tag = statement[part.start : part.end]
    if tag.startswith("{%"):
        return "choose between whole statements with `choose`, or let the database decide by a parameter"
    shown = tag if len(tag) <= SHOWN_MAX and '"' not in tag else "{{ … }}"
    is_quoted = statement[part.start - 1 : part.start] == statement[part.end : part.end + 1] == "'"
    before = f"'{shown}'" if is_quoted else shown
    return f'write `$1` for {before} and pass the value beside the statement:\n  params: ["{shown}"]'


RULE = Rule("NOE901", "templated-sql", Severity.WARNING, check)
