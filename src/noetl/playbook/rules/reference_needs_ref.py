"""A reference that goes to a `set` target whose name does not say so."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document, SetUse, TemplateUse
from noetl.playbook.rules.references import Verdict, judge_expression, reference_names, templates_by_node
from noetl.playbook.rules.rule import Part, Rule


def check(document: Document) -> Iterator[Diagnostic]:
    names = document.once(reference_names)
    templates = document.once(templates_by_node)
    for use in document.notes.sets:
        template = templates.get(id(use.value))
        if template is None or use.target.endswith("_ref") or "ref" not in template.template.text:
            continue
        expression = template.template.expression if template.template.is_single else None
        if expression is not None and judge_expression(expression, names) is Verdict.REFERENCE:
            yield _report(document, use, template, Part(expression.start, expression.end))


def _report(document: Document, use: SetUse, template: TemplateUse, part: Part) -> Diagnostic:
    written = template.template.text[part.start : part.end]
    message = f'"{use.target}" receives a reference, `{written}`, but its name does not end in "_ref"'
    hint = f'call it "{use.target}_ref"'
    if written.endswith(".ref") and " " not in written:
        hint = f"{hint}, or keep the data itself: `{written.removesuffix('.ref')}.data`"
    return RULE.in_template(document, template, part, message, hint)


RULE = Rule("NOE405", "reference-needs-ref", Severity.ERROR, check)
