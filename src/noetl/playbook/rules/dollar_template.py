"""A template with a dollar sign before it, as other tools want it."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.rule import Part, Rule
from noetl.playbook.source.scalars import quote


def check(document: Document) -> Iterator[Diagnostic]:
    for use in document.notes.templates:
        text = use.template.text
        if text.startswith("${{") and text.endswith("}}") and text.count("{{") == 1 and not use.site.is_guard:
            message = "the `$` before the template is text: the value is a text that begins with it"
            hint = f"write {quote(text[1:])}; if the sign is meant, `{{{{ '$' ~ … }}}}` says so"
            yield RULE.in_template(document, use, Part(0, 1), message, hint)


RULE = Rule("NOE515", "dollar-template", Severity.WARNING, check)
