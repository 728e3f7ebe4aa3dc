"""A status or an event's name compared with a word that never occurs."""

from collections.abc import Iterator

from noetl.errors import closest
from noetl.playbook.diagnostics import Diagnostic, Edit, Severity
from noetl.playbook.document import Document
from noetl.playbook.rules.closed_values import OUTPUT_STATUS, ImpossibleValue, impossible_values, quoting, replacing
from noetl.playbook.rules.names import Sense, read_names
from noetl.playbook.rules.rule import Rule
from noetl.playbook.rules.spelling import LETTERS_SAFE_MIN, is_safe

GOOD = frozenset(
    ("ok", "okay", "success", "succeeded", "successful", "done", "complete", "completed", "finished", "passed")
)
BAD = frozenset(("error", "err", "fail", "failed", "failure", "exception", "errored"))
"""What people call an end elsewhere, alone or behind a dot."""


def check(document: Document) -> Iterator[Diagnostic]:
    undefined = {(id(reading.use), reading.names[0].start) for reading in document.once(read_names)[Sense.UNDEFINED]}
    for found in document.once(impossible_values):
        is_undefined = found.is_bare and (id(found.use), found.start) in undefined
        is_old = found.options is OUTPUT_STATUS and found.value == "success"
        # Of an undefined name and of an older word rules of their own speak.
        if not is_undefined and not is_old:
            yield _report(document, found)


def _report(document: Document, found: ImpossibleValue) -> Diagnostic:
    name = ".".join(found.path)
    if found.is_bare:
        message = f"`{name}` is compared with the name `{found.value}`, not with a text"
        return RULE.in_template(
            document, found.use, found.part, message, "put the text in quotes", quoting(document, found)
        )
    message = f'`{name}` is never "{found.value}"'
    hint = f"here it is one of {', '.join(found.options)}"
    near = closest(found.value, found.options)
    meant = near or _synonym(found)
    if meant is not None:
        message += f'; did you mean "{meant}"?'
    fix = _respelt(document, found, near) if near is not None else []
    return RULE.in_template(document, found.use, found.part, message, hint, fix)


def _synonym(found: ImpossibleValue) -> str | None:
    end = found.value.lower().rpartition(".")[2]
    wanted = GOOD if end in GOOD else BAD if end in BAD else frozenset()
    return next((option for option in found.options if option.rpartition(".")[2] in wanted), None)


def _respelt(document: Document, found: ImpossibleValue, near: str) -> list[Edit]:
    """The edit where the word is misspelt by a letter or lacks its ending."""
    is_cut = near.startswith(found.value) and len(found.value) >= LETTERS_SAFE_MIN
    if not is_cut and not is_safe(found.value, near):
        return []
    return replacing(document, found, near)


RULE = Rule("NOE514", "impossible-value", Severity.WARNING, check)
