"""`set` writes to `iter` where no iteration runs."""

from collections.abc import Iterator

from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document, SetUse
from noetl.playbook.rules.names import known_names
from noetl.playbook.rules.rule import Rule


def check(document: Document) -> Iterator[Diagnostic]:
    known = document.once(known_names)
    for use in document.notes.sets:
        title = use.place.frame.title
        if use.target.startswith("iter.") and not use.place.in_loop and title not in known.unclear_loops:
            yield _report(use, title in known.loops)


def _report(use: SetUse, has_loop: bool) -> Diagnostic:
    name = use.target.removeprefix("iter.")
    title = use.place.frame.title
    if has_loop:
        message = f'"{use.target}" is set where no iteration runs: {use.site.title} is evaluated once, after the loop'
        hint = f"move it to a task of {title}, or write to `ctx.{name}`"
    else:
        message = f'"{use.target}" is set in {title}, which has no loop'
        hint = f"write to `step.{name}` for this step run, or to `ctx.{name}` for the whole execution"
    return RULE.at(use.key, message, hint)


RULE = Rule("NOE403", "iter-set-outside-loop", Severity.ERROR, check)
