"""A rule that reads what the `set` of its own task writes, which happens only after the rules."""

from collections.abc import Iterator, Mapping

from noetl.expressions.template import NameUse, is_template, parse
from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document, TemplateUse
from noetl.playbook.model import Directive
from noetl.playbook.model import Rule as PolicyRule
from noetl.playbook.rules.references import templates_by_node
from noetl.playbook.rules.rule import Part, Rule
from noetl.playbook.rules.written import WrittenTask, written_tasks

PATH_MAX = 32
"""Paths are compared this deep."""

WITHOUT_SET = (Directive.RETRY, Directive.FAIL)
OUTPUTS = ("output", "outcome")


def check(document: Document) -> Iterator[Diagnostic]:
    for written in written_tasks(document):
        if written.task.set and written.task.policy is not None:
            yield from _check_task(document, written, written.task.policy.rules)


def _check_task(document: Document, written: WrittenTask, rules: tuple[PolicyRule, ...]) -> Iterator[Diagnostic]:
    templates = document.once(templates_by_node)
    for rule in rules:
        use = templates.get(id(document.node(rule).get("when")))
        if use is not None and not use.template.problems and not _is_about_errors(use, rule):
            yield from _check_guard(document, use, written.task.set)


def _check_guard(document: Document, use: TemplateUse, targets: Mapping[str, object]) -> Iterator[Diagnostic]:
    told: set[str] = set()
    for name in use.template.names:
        target = _written(name, targets)
        if target is not None and target not in told and not _is_comparison(use, targets[target]):
            told.add(target)
            yield _report(document, use, name, target)


def _written(name: NameUse, targets: Mapping[str, object]) -> str | None:
    """The target that holds all that is read. One that is only a part of it leaves the rest as it was."""
    path = name.root
    for segment in name.segments[:PATH_MAX]:
        path = f"{path}.{segment.name}"
        if path in targets:
            return path
    return None


def _is_about_errors(use: TemplateUse, rule: PolicyRule) -> bool:
    """After an error that ends the task or runs it again, its `set` does not happen: there is no later value."""
    return rule.then.do in WITHOUT_SET and bool(_output_paths(use.template.names) & {"status", "error"})


def _is_comparison(use: TemplateUse, value: object) -> bool:
    """Whether the guard also reads, from the output, what is written: it holds the new value against the old one."""
    if not isinstance(value, str) or not is_template(value):
        return False
    new = {_path(name) for name in parse(value).names if name.root in OUTPUTS}
    return any(_path(name) in new for name in use.template.names)


def _output_paths(names: tuple[NameUse, ...]) -> set[str]:
    return {name.segments[0].name for name in names if name.root in OUTPUTS and name.segments}


def _path(name: NameUse) -> tuple[str, ...]:
    return (name.root, *(segment.name for segment in name.segments))


def _report(document: Document, use: TemplateUse, name: NameUse, target: str) -> Diagnostic:
    message = f"this rule reads `{target}` as it was before: the `set` of the task writes it after the rules"
    hint = (
        "to decide on the new value, read it from `output`\n"
        "if the old one is meant, move that line of `set` under the rules' `then`, where the order is plain"
    )
    return RULE.in_template(document, use, Part(name.start, name.segments[-1].end), message, hint)


RULE = Rule("NOE410", "set-after-rules", Severity.WARNING, check)
