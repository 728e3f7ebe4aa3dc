"""Comparisons of a status or an event's name with a word that is none of the few that occur."""

from collections.abc import Iterator, Sequence

import msgspec

from noetl.errors import closest
from noetl.expressions.sites import SCOPE_WORDS, Site
from noetl.expressions.syntax import Compare, Const, Expression, ListOf
from noetl.playbook.diagnostics import Edit
from noetl.playbook.document import Document, TemplateUse
from noetl.playbook.rules.names import known_names
from noetl.playbook.rules.references import dotted_path
from noetl.playbook.rules.rule import Part
from noetl.playbook.source.positions import replace_in_scalar

OUTPUT_STATUS = ("ok", "error")
EVENT_STATUS = ("success", "error")
EVENT_NAMES = ("step.done", "loop.done", "step.failed")

FIRST_NAME, FIRST_STATUS = "workflow.started", "in_progress"
"""The event of the first step, which no arc sees."""

ERROR_KINDS = (
    "connect", "timeout", "cancelled", "http_status", "sql", "exception", "exit_code", "crash", "template", "input",
    "playbook_failed", "reference_not_available", "checksum_mismatch", "data_by_reference", "budget_exceeded",
    "poison", "loop_collection", "ctx_conflict", "admission_deadlock",
)  # fmt: skip
"""Of these only a near miss is told: a tool may have kinds of its own."""

AFTER_STEP = frozenset((Site.STEP_SET, Site.ARC_WHEN, Site.ARC_SET, Site.ARC_ARGS))

_MIRRORED = frozenset(("==", "!="))
_MEMBERSHIP = frozenset(("in", "not in"))

Path = tuple[str, ...]


class ImpossibleValue(msgspec.Struct, frozen=True):
    """`path` is never `value`, but always one of `options`. `start` and `end` enclose the word between its quotes.

    `is_bare`: the value is one of the options and only lacks the quotes, so that it is read as a name.
    """

    use: TemplateUse
    path: Path
    value: str
    options: Sequence[str]
    start: int
    end: int
    is_bare: bool = False

    @property
    def part(self) -> Part:
        return Part(self.start, self.end)


def quoting(document: Document, found: ImpossibleValue) -> list[Edit]:
    """The edit that makes a text of a name."""
    return replacing(document, found, f"'{found.value}'")


def replacing(document: Document, found: ImpossibleValue, new: str) -> list[Edit]:
    edit = replace_in_scalar(document.source, found.use.node, found.start, found.end, new)
    return [edit] if edit is not None else []


def impossible_values(document: Document) -> list[ImpossibleValue]:
    steps = document.once(known_names).steps
    return [found for use in document.notes.templates if _is_suspect(use.template.text) for found in _in(use, steps)]


def _is_suspect(text: str) -> bool:
    """Whether it is worth a closer look, which costs more."""
    return "status" in text or "event" in text or "error" in text


def _in(use: TemplateUse, steps: frozenset[str]) -> Iterator[ImpossibleValue]:
    for path, other in _comparisons(use.template.expression):
        options = _options(use, path, steps)
        if not options:
            continue
        if not isinstance(other, Const):
            name = ".".join(dotted_path(other) or ())
            if name in options:
                yield ImpossibleValue(use, path, name, options, other.start, other.end, is_bare=True)
        elif isinstance(other.value, str) and other.value not in options and _is_told(other.value, options):
            yield ImpossibleValue(use, path, other.value, options, other.start + 1, other.end - 1)


def _is_told(value: str, options: Sequence[str]) -> bool:
    return options is not ERROR_KINDS or closest(value, ERROR_KINDS) is not None


def _comparisons(expression: Expression | None) -> Iterator[tuple[Path, Expression]]:
    waiting = [expression] if expression is not None else []
    for node in waiting:
        waiting.extend(node.inside())
        if isinstance(node, Compare):
            lefts = (node.first, *(right for _, right in node.rest))
            for left, (operator, right) in zip(lefts, node.rest, strict=False):
                yield from _sides(left, operator, right)


def _sides(left: Expression, operator: str, right: Expression) -> Iterator[tuple[Path, Expression]]:
    if operator in _MIRRORED and isinstance(left, Const):
        left, right = right, left
    path = dotted_path(left)
    if path is None:
        return
    if operator in _MIRRORED:
        yield path, right
    elif operator in _MEMBERSHIP and isinstance(right, ListOf):
        yield from ((path, item) for item in right.items)


def _options(use: TemplateUse, path: Path, steps: frozenset[str]) -> Sequence[str]:
    is_first = use.site not in AFTER_STEP
    match path:
        case ("event", "name"):
            return (*EVENT_NAMES, FIRST_NAME) if is_first else EVENT_NAMES
        case ("event", "status"):
            return (*EVENT_STATUS, FIRST_STATUS) if is_first else EVENT_STATUS
        case ("output" | "outcome" | "event", "error", "kind"):
            return ERROR_KINDS
        case ("output" | "outcome", "status"):
            return OUTPUT_STATUS
        case (root, "status") if root not in SCOPE_WORDS and (root in steps or root in use.place.frame.tasks):
            return OUTPUT_STATUS
        case _:
            return ()
