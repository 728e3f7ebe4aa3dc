"""A statement of Jinja2 that playbook templates do not have."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.problems import diagnose, problems_by_kind
from noetl.playbook.rules.rule import Rule


def check(document: Document) -> Iterator[Diagnostic]:
    """The end of a statement that was refused needs no word of its own."""
    for use, problem in document.once(problems_by_kind).get("statement", ()):
        if not use.template.text.startswith("end", problem.start):
            yield diagnose(document, RULE, use, problem)


RULE = Rule("NOE507", "unsupported-statement", Severity.ERROR, check)
