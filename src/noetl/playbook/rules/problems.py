"""Turns what the template parser found into diagnostics; each kind of problem has a rule of its own."""

from collections.abc import Iterator, Mapping, Sequence

from noetl.expressions.lexer import CURLY_QUOTES
from noetl.expressions.template import Problem
from noetl.playbook.diagnostics import Diagnostic, Edit
from noetl.playbook.document import Document, TemplateUse
from noetl.playbook.rules.rule import Rule
from noetl.playbook.rules.spelling import is_safe
from noetl.playbook.source.positions import replace_in_scalar
from noetl.playbook.structure import is_name

_GUESS = "Did you mean `"

Found = tuple[TemplateUse, Problem]


def problems_by_kind(document: Document) -> Mapping[str, Sequence[Found]]:
    found: dict[str, list[Found]] = {}
    for use in document.notes.templates:
        for problem in use.template.problems:
            found.setdefault(problem.kind, []).append((use, problem))
    return found


def report(document: Document, rule: Rule, *kinds: str) -> Iterator[Diagnostic]:
    by_kind = document.once(problems_by_kind)
    for kind in kinds:
        for use, problem in by_kind.get(kind, ()):
            yield diagnose(document, rule, use, problem)


def diagnose(document: Document, rule: Rule, use: TemplateUse, problem: Problem) -> Diagnostic:
    if not problem.hint.startswith(_GUESS):
        fix = _straightened(document, use, problem)
        hint = _hint(problem.hint) or _doubled(use.template.text[: problem.start])
        return rule.in_template(document, use, problem, problem.message, hint, fix)
    near = problem.hint.removeprefix(_GUESS).partition("`")[0]
    fix = _respelt(document, use, problem, near)
    return rule.in_template(document, use, problem, f"{problem.message}; did you mean `{near}`?", fix=fix)


def _doubled(before: str) -> str | None:
    """What to say of a template inside a template."""
    is_doubled = before.rpartition("}}")[2].count("{{") > 1
    return "inside {{ … }} names stand without braces of their own" if is_doubled else None


def _straightened(document: Document, use: TemplateUse, problem: Problem) -> list[Edit]:
    """The edit that makes the curly quotes of a tag straight, if they can be told from others in it."""
    text = use.template.text
    if text[problem.start : problem.end] not in CURLY_QUOTES:
        return []
    tag = text[problem.start :].partition("}")[0]
    end = problem.start + 1 + max(at for at, char in enumerate(tag) if char in CURLY_QUOTES)
    curly = text[problem.start : end]
    straight = "".join("'" if char in CURLY_QUOTES else char for char in curly)
    if "'" in curly or straight.count("'") % 2:
        return []
    edit = replace_in_scalar(document.source, use.node, problem.start, end, straight)
    return [edit] if edit is not None else []


def _respelt(document: Document, use: TemplateUse, problem: Problem, near: str) -> list[Edit]:
    """The edit, where the problem lies on the name alone and not, say, on a quoted one."""
    word = use.template.text[problem.start : problem.end]
    if not is_name(word) or not is_safe(word, near):
        return []
    edit = replace_in_scalar(document.source, use.node, problem.start, problem.end, near)
    return [edit] if edit is not None else []


def _hint(text: str) -> str | None:
    """Hints are one line that begins small, as everywhere."""
    sentences = text.removesuffix(".").split(". ")
    return "; ".join(sentence[:1].lower() + sentence[1:] for sentence in sentences) or None
