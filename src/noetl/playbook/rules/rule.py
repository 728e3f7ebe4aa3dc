"""What a rule is: a code that never changes its meaning, and a check that yields diagnostics."""

from collections.abc import Callable, Iterable, Sequence

import msgspec

from noetl.expressions.template import NameUse, Problem, Segment
from noetl.playbook.diagnostics import Diagnostic, Edit, Severity, Span
from noetl.playbook.document import Document, TemplateUse
from noetl.playbook.source.nodes import Node
from noetl.playbook.source.positions import locate


class Rule(msgspec.Struct, frozen=True):
    """`name` is the file's and the page's; `check` looks at a document and is None for rules about the source text.

    `problem` is the kind of source problem such a rule speaks of.
    """

    code: str
    name: str
    severity: Severity
    check: Callable[[Document], Iterable[Diagnostic]] | None = None
    problem: str | None = None

    def at(self, place: Node | Span, message: str, hint: str | None = None, fix: Sequence[Edit] = ()) -> Diagnostic:
        span = place if isinstance(place, Span) else place.span
        return self._said(span, message, hint, fix)

    def in_template(
        self,
        document: Document,
        use: TemplateUse,
        part: "Part | Problem | NameUse | Segment",
        message: str,
        hint: str | None = None,
        fix: Sequence[Edit] = (),
    ) -> Diagnostic:
        """A diagnostic at a part of a template, found again inside the YAML scalar however that is quoted or folded."""
        located = locate(document.source, use.node, part.start, part.end)
        return self._said(located.span, message, hint, fix)

    def _said(self, span: Span, message: str, hint: str | None, fix: Sequence[Edit]) -> Diagnostic:
        shown = "\n".join(map(visible, hint.split("\n"))) if hint is not None else None
        return Diagnostic(self.code, self.severity, visible(message), span, shown, tuple(fix))


def visible(text: str) -> str:
    """A text on one line. What a playbook calls its steps and keys may hold line breaks and control characters."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)


class Part(msgspec.Struct, frozen=True, gc=False):
    """Offsets into a template's text."""

    start: int
    end: int
