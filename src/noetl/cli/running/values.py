"""What can be bound before a run: templates that read the workload, whose values are all known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from noetl.cli.calling import WORKLOAD, listed, meant, workload_reads
from noetl.cli.workload import undeclared
from noetl.errors import TemplateError
from noetl.expressions.runtime import word_for
from noetl.expressions.sites import Site
from noetl.expressions.template import NameUse, Segment
from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document, TemplateUse
from noetl.playbook.model import Step
from noetl.playbook.rules.needs import VALUE_NOT_GIVEN, VALUE_UNFIT
from noetl.playbook.rules.rule import Part
from noetl.playbook.rules.written import title

Values = Mapping[str, object]

OF_STEP = (Site.STEP_INPUT, Site.LOOP_IN, Site.MAX_IN_FLIGHT)
"""What is evaluated when a step starts."""


def unbound(document: Document, workload: Values) -> Iterator[Diagnostic]:
    """Templates that cannot be evaluated with this workload: errors where the run begins with them, else warnings.

    What many templates lack is told once, where it is gravest.
    """
    found: dict[str, list[Diagnostic]] = {}
    for use in document.notes.templates:
        one = None if use.site.is_guard or use.template.problems else _unbound(document, use, workload)
        if one is not None:
            severity = Severity.ERROR if _is_first(document, use) else Severity.WARNING
            found.setdefault(one.message, []).append(msgspec.structs.replace(one, severity=severity))
    yield from map(_once, found.values())


def _once(found: list[Diagnostic]) -> Diagnostic:
    first = next((each for each in found if each.severity is Severity.ERROR), found[0])
    if len(found) == 1:
        return first
    count = len(found) - 1
    others = "1 other template has" if count == 1 else f"{count} other templates have"
    return msgspec.structs.replace(first, hint="\n".join(filter(None, (first.hint, f"{others} the same problem"))))


def _unbound(document: Document, use: TemplateUse, workload: Values) -> Diagnostic | None:
    names = [name for name in use.template.names if name.root == WORKLOAD]
    missing = next((found for name in names if (found := _missing(name, workload)) is not None), None)
    if len(names) < len(use.template.names):
        return _not_given(document, use, *missing) if missing is not None else None
    try:
        value = use.template.evaluate({WORKLOAD: workload}) if names else []
    except TemplateError as error:
        if missing is not None:
            return _not_given(document, use, *missing)
        return VALUE_UNFIT.in_template(
            document, use, Part(error.start, error.end), error.message, _shown(names, workload)
        )
    if use.site is Site.LOOP_IN and not isinstance(value, list | tuple):
        message = f"`loop.in` must give a list, and gives {word_for(value)}"
        return VALUE_UNFIT.at(use.node, message, _shown(names, workload))
    return None


def _missing(name: NameUse, workload: Values) -> tuple[Segment, str, Values] | None:
    """The first key that is not there, and where it was looked for."""
    place: object = workload
    for count, segment in enumerate(name.segments if not name.defaulted else ()):
        if not isinstance(place, Mapping):
            return None
        if segment.name not in place:
            return segment, ".".join((WORKLOAD, *(each.name for each in name.segments[:count]))), place
        place = place[segment.name]
    return None


def _not_given(document: Document, use: TemplateUse, segment: Segment, above: str, there: Values) -> Diagnostic:
    keys = [*there]
    message = f'`{above}` has no "{segment.name}"{meant(segment.name, keys)}'
    path = f"{above}.{segment.name}".removeprefix(f"{WORKLOAD}.")
    has = f"it has: {listed(keys)}" if keys else "it is empty"
    return VALUE_NOT_GIVEN.in_template(
        document, use, segment, message, f"{has}\ngive it: --set {path}=VALUE, or declare it in `workload`"
    )


def _shown(names: list[NameUse], workload: Values) -> str | None:
    """The values that a template reads, where they are short."""
    shown = []
    for name in names:
        value: object = workload
        for segment in name.segments:
            value = value.get(segment.name) if isinstance(value, Mapping) else None
        if isinstance(value, str | int | float | bool | None) and len(str(value)) <= 40:
            path = ".".join((WORKLOAD, *(segment.name for segment in name.segments)))
            shown.append(f"{path} is {msgspec.json.encode(value).decode()}")
    return "; ".join(dict.fromkeys(shown)) or None


def _is_first(document: Document, use: TemplateUse) -> bool:
    """Whether every run evaluates it: at the first step, or for the first task of that."""
    entry = next((step for step in document.playbook.workflow if step.name == document.playbook.entry_step), None)
    if entry is None or entry.admit is not None or use.place.frame.title != title(entry):
        return False
    return (use.site in OF_STEP and not use.place.in_loop) or (use.site is Site.TASK_INPUT and _is_of_first(entry, use))


def _is_of_first(entry: Step, use: TemplateUse) -> bool:
    first = entry.tool[0] if entry.tool and entry.loop is None else None
    return first is not None and use.place.task == first.name and (first.policy is None or not first.policy.before)


def unread(document: Document, given: Values) -> Iterator[tuple[str, str]]:
    """Values that were given and that the playbook neither declares nor reads: what is wrong, and what there is."""
    for key, known in undeclared(given, document.playbook.workload, workload_reads(document)):
        message = f'the workload of {document.playbook.metadata.path} has no "{key}"{meant(key, known)}'
        yield message, f"it declares or reads: {listed(known)}" if known else "it reads no values"
