"""A `set` target that is no path inside `ctx`, `step` or `iter`."""

from collections.abc import Iterator

from noetl.errors import closest
from noetl.expressions.sites import SCOPE_WORDS
from noetl.expressions.template import is_template
from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document, SetUse
from noetl.playbook.reading import SCOPES
from noetl.playbook.rules.forms import space_behind_colon
from noetl.playbook.rules.rule import Rule
from noetl.playbook.rules.spelling import is_safe, respell
from noetl.playbook.structure import is_name

LIFETIMES = "`ctx` lasts for the execution, `step` for the step run, `iter` for one iteration of a loop"


def check(document: Document) -> Iterator[Diagnostic]:
    for use in document.notes.sets:
        scope, _, path = use.target.partition(".")
        if scope not in SCOPES:
            yield _outside(use, scope, path)
        elif not all(map(is_name, path.split("."))):
            yield _malformed(use, scope, path)


def _outside(use: SetUse, scope: str, path: str) -> Diagnostic:
    if is_template(use.target):
        return _templated(use)
    if scope in SCOPE_WORDS:
        name = path or "x"
        hint = f"write to a scope of your own, for example `ctx.{name}`\n{LIFETIMES}"
        return RULE.at(use.key, f'`set` cannot write to "{use.target}": `{scope}` is read-only', hint)
    if not path:
        message = f'`set` target "{use.target}" has no scope; did you mean "ctx.{use.target}"?'
        return RULE.at(use.key, message, LIFETIMES, respell(use.key, f"ctx.{use.target}"))
    message = f'`set` cannot write to "{use.target}": there is no scope `{scope}`'
    near = closest(scope, SCOPES)
    if near is None:
        return RULE.at(use.key, message, f"begin with one of ctx, step, iter\n{LIFETIMES}")
    fix = respell(use.key, f"{near}.{path}") if is_safe(scope, near) else []
    return RULE.at(use.key, f'{message}; did you mean "{near}.{path}"?', LIFETIMES, fix)


def _malformed(use: SetUse, scope: str, path: str) -> Diagnostic:
    if is_template(use.target):
        return _templated(use)
    if not path:
        message = f"`set` cannot replace `{scope}` as a whole"
        return RULE.at(use.key, message, f"name a path inside it, for example `{scope}.x`")
    message = f'`set` target "{use.target}" is not a path'
    word, colon, value = use.target.partition(":")
    if colon and value:
        return RULE.at(use.key, message, f"put a space after the colon: `{word}: {value}`", space_behind_colon(use.key))
    hint = f"write names joined by dots, made of letters, digits and `_`: `{scope}.rows` or `{scope}.report.rows`"
    return RULE.at(use.key, message, hint)


def _templated(use: SetUse) -> Diagnostic:
    message = f'`set` target "{use.target}" holds a template, but targets are fixed names'
    return RULE.at(use.key, message, 'to write under a name that varies, set a whole mapping: `ctx.rows: "{{ … }}"`')


RULE = Rule("NOE401", "set-target", Severity.ERROR, check)
