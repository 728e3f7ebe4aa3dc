"""A `set` target that ends in `_ref` and receives something that is no reference."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document, SetUse, TemplateUse
from noetl.playbook.rules.references import Names, Verdict, judge_expression, reference_names, templates_by_node
from noetl.playbook.rules.rule import Part, Rule
from noetl.playbook.rules.wording import found
from noetl.playbook.source.nodes import Scalar


def check(document: Document) -> Iterator[Diagnostic]:
    targets = [use for use in document.notes.sets if use.target.endswith("_ref")]
    if not targets:
        return
    names = document.once(reference_names)
    templates = document.once(templates_by_node)
    for use in targets:
        report = _check(document, use, templates.get(id(use.value)), names)
        if report is not None:
            yield report


def _check(document: Document, use: SetUse, template: TemplateUse | None, names: Names) -> Diagnostic | None:
    message = f'"{use.target}" is for a reference, because its name ends in "_ref", but it receives'
    hint = f'give it a reference such as `{{{{ output.ref }}}}`, or call it "{use.target.removesuffix("_ref")}"'
    if template is None:
        is_cleared = isinstance(use.value, Scalar) and use.value.value is None
        return None if is_cleared else RULE.at(use.value, f"{message} {found(use.value)}", hint)
    parsed = template.template
    if parsed.problems:
        return None
    if not parsed.is_single:
        return RULE.at(use.value, f"{message} text", f"{hint}; a template with text around it makes text")
    expression = parsed.expression
    if expression is None or judge_expression(expression, names) is not Verdict.DATA:
        return None
    part = Part(expression.start, expression.end)
    return RULE.in_template(document, template, part, f"{message} data", hint)


RULE = Rule("NOE404", "ref-needs-reference", Severity.ERROR, check)
