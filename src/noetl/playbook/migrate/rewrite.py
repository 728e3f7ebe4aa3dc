"""What a rewrite is: the edits that turn one older construct into today's, or the reason why a person must do it."""

from collections.abc import Callable, Iterable, Sequence
from typing import ParamSpec

import msgspec

from noetl.playbook.diagnostics import Edit, Span
from noetl.playbook.document import Document
from noetl.playbook.source.nodes import Entry, Scalar, Style

P = ParamSpec("P")


UNTOLD = ""
"""What a rewrite says that only prepares another one."""


class Rewrite(msgspec.Struct, frozen=True):
    """`code` names the rule that speaks of the word. Without edits, `reason` says why it is left as it is."""

    code: str
    span: Span
    what: str
    edits: tuple[Edit, ...] = ()
    reason: str | None = None


Pass = Callable[[Document], Iterable[Rewrite]]


class Untranslatable(Exception):
    """Ends a rewrite: what stands there, or at a `span` inside it, has no faithful translation."""

    def __init__(self, reason: str, span: Span | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.span = span


def attempt(
    code: str,
    span: Span,
    what: str,
    edits: Callable[P, Sequence[Edit]],
    *args: P.args,
    **kwargs: P.kwargs,
) -> Rewrite:
    """The rewrite, or its refusal."""
    try:
        return Rewrite(code, span, what, tuple(edits(*args, **kwargs)))
    except Untranslatable as refusal:
        return Rewrite(code, refusal.span or span, what, reason=refusal.reason)


def rename_key(entry: Entry, name: str) -> Edit:
    return Edit(entry.key.start, entry.key.end, name)


def prefix_key(key: Scalar, prefix: str) -> Edit:
    """Puts a prefix before a key, inside its quotes."""
    at = key.start if key.style is Style.PLAIN else key.start + 1
    return Edit(at, at, prefix)
