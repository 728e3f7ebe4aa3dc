"""What can be bound before a run: templates that read the workload, whose values are all known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from noetl.cli.calling import WORKLOAD, listed, meant, workload_reads
from noetl.cli.running.beginning import Beginning, FirstTask
from noetl.cli.workload import undeclared
from noetl.engine.loops import is_in_flight, unfit_in_flight
from noetl.engine.output import Error
from noetl.errors import TemplateError
from noetl.expressions.runtime import word_for
from noetl.expressions.sites import Site
from noetl.expressions.template import NameUse, Segment
from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document, TemplateUse
from noetl.playbook.model import LoopMode
from noetl.playbook.rules.needs import VALUE_NOT_GIVEN, VALUE_UNFIT
from noetl.playbook.rules.rule import Part

Values = Mapping[str, object]

OF_STEP = (Site.STEP_INPUT, Site.LOOP_IN, Site.MAX_IN_FLIGHT)
"""What is evaluated when a step starts."""


def unbound(document: Document, workload: Values, begun: Beginning) -> Iterator[Diagnostic]:
    """Templates that cannot be evaluated with this workload: errors where the run fails with them, else warnings.

    What many templates lack is told once, where it is gravest.
    """
    found: dict[str, list[Diagnostic]] = {}
    fatal = _FatalPaths(begun)
    for use in document.notes.templates:
        one = None if use.site.is_guard or use.template.problems else _unbound(document, use, workload, begun)
        if one is not None:
            severity = Severity.ERROR if fatal.has(use) else Severity.WARNING
            found.setdefault(one.message, []).append(msgspec.structs.replace(one, severity=severity))
    if begun.error is not None and not fatal.is_seen:
        one = _told(document, begun.error)
        found.setdefault(one.message, []).append(one)
    yield from map(_once, found.values())


class _FatalPaths:
    """Templates at which a run fails that begins with them. `is_seen`: the one is among them that it fails at first."""

    def __init__(self, begun: Beginning) -> None:
        self._path = place_of(begun.error) if begun.error is not None else ""
        self._begun = begun
        self.is_seen = False

    def has(self, use: TemplateUse) -> bool:
        path = use.place.path
        self.is_seen = self.is_seen or path == self._path
        task = _first_task(self._begun, use)
        return path == self._path or self._is_beside(use) or (task is not None and task.is_fatal)

    def _is_beside(self, use: TemplateUse) -> bool:
        """Of the same step, and evaluated when that starts."""
        step = "/".join(self._path.split("/")[:2])
        return use.site in OF_STEP and not use.place.in_loop and use.place.path.startswith(f"{step}/")


def place_of(error: Error) -> str:
    """Where in the model an error lies."""
    return str(error.named.get("path", ""))


def _told(document: Document, error: Error) -> Diagnostic:
    """What nothing but the engine knows of."""
    path, details = place_of(error), error.named
    use = next((each for each in document.notes.templates if each.place.path == path), None)
    entry = next(step for step in document.playbook.workflow if step.name == document.playbook.entry_step)
    place = use.node if use is not None else document.node(entry)
    where = f"{details.get('file')}:{details.get('line')}:{details.get('column')}: "
    return msgspec.structs.replace(VALUE_UNFIT.at(place, error.message.replace(where, "")), severity=Severity.ERROR)


def _once(found: list[Diagnostic]) -> Diagnostic:
    first = next((each for each in found if each.severity is Severity.ERROR), found[0])
    if len(found) == 1:
        return first
    count = len(found) - 1
    others = "1 other template has" if count == 1 else f"{count} other templates have"
    return msgspec.structs.replace(first, hint="\n".join(filter(None, (first.hint, f"{others} the same problem"))))


def _unbound(document: Document, use: TemplateUse, workload: Values, begun: Beginning) -> Diagnostic | None:
    task = _first_task(begun, use)
    scope = task.scope(use.place.path) if task is not None else {WORKLOAD: workload}
    names = [name for name in use.template.names if name.root == WORKLOAD]
    missing = next((found for name in names if (found := _missing(name, workload)) is not None), None)
    if any(name.root not in scope for name in use.template.names):
        return _not_given(document, use, *missing) if missing is not None else None
    try:
        value = use.template.evaluate(scope)
    except TemplateError as error:
        if missing is not None:
            return _not_given(document, use, *missing)
        return VALUE_UNFIT.in_template(
            document, use, Part(error.start, error.end), error.message, _shown(names, workload)
        )
    return _unfit(document, use, value, _shown(names, workload))


def _unfit(document: Document, use: TemplateUse, value: object, hint: str | None) -> Diagnostic | None:
    """A value that its place does not take."""
    if use.place.path.endswith("/loop/in") and not isinstance(value, list | tuple):
        return VALUE_UNFIT.at(use.node, f"`loop.in` must give a list, and gives {word_for(value)}", hint)
    if use.place.path in document.once(_parallel) and not is_in_flight(value):
        return VALUE_UNFIT.at(use.node, unfit_in_flight(value), hint)
    return None


def _parallel(document: Document) -> frozenset[str]:
    """Where `max_in_flight` is read: a loop that goes in order does without."""
    return frozenset(
        f"workflow/{step.name}{'/loop' * depth}/max_in_flight"
        for step in document.playbook.workflow
        for depth, level in enumerate(step.loop.levels() if step.loop is not None else (), 1)
        if level.mode is LoopMode.PARALLEL
    )


def _first_task(begun: Beginning, use: TemplateUse) -> FirstTask | None:
    """The task that a run begins with and that a template binds."""
    if use.site not in (Site.TASK_INPUT, Site.CALL_INPUT):
        return None
    path = use.place.path
    return next((task for task in begun.tasks.values() if path.startswith(f"{task.path}/")), None)


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
        path, value = _deepest(name, workload)
        if isinstance(value, str | int | float | bool | None) and len(str(value)) <= 40:
            shown.append(f"{path} is {msgspec.json.encode(value).decode()}")
    return "; ".join(dict.fromkeys(shown)) or None


def _deepest(name: NameUse, workload: Values) -> tuple[str, object]:
    """The value that a name reads, or the one at which there is nothing to read any more."""
    path, value = WORKLOAD, workload  # type: str, object
    for segment in name.segments:
        if not isinstance(value, Mapping) or segment.name not in value:
            break
        path, value = f"{path}.{segment.name}", value[segment.name]
    return path, value


def unread(document: Document, given: Values) -> Iterator[tuple[str, str]]:
    """Values that were given and that the playbook neither declares nor reads: what is wrong, and what there is."""
    for key, known in undeclared(given, document.playbook.workload, workload_reads(document)):
        message = f'the workload of {document.playbook.metadata.path} has no "{key}"{meant(key, known)}'
        yield message, f"it declares or reads: {listed(known)}" if known else "it reads no values"
