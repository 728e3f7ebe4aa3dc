"""Where and why the YAML parser gave up, and the lines around that place, for those who explain it."""

import re

import msgspec

from noetl.playbook.diagnostics import Edit
from noetl.playbook.source.lines import Lines
from noetl.playbook.source.nodes import Scalar, SourceProblem
from noetl.playbook.source.scalars import quote

LINE_CHARS_MAX = 1_000
LINES_BACK_MAX = 200

_KEY = r"""(?:"[^"]*"|'[^']*'|-?[^\s"'#\[\]{},&*!|>%@`-][^:#]*?)\s*:"""
_LINE = re.compile(rf"(?P<lead>\s*(?:-\s+)*)(?:(?P<key>{_KEY})(?=\s|$)\s*)?(?P<value>.*)")


class Failure(msgspec.Struct, frozen=True):
    """`at` is where the parser stopped, `end` how far it could have gone, `context` what it was reading.

    `opening` is the innermost bracket that is still open, `last` the last scalar that was read.
    """

    lines: Lines
    problem: str
    at: int
    end: int
    context: int | None
    opening: int | None
    last: Scalar | None

    @property
    def text(self) -> str:
        return self.lines.text

    @property
    def found(self) -> str:
        """The character at which the parser stopped; empty at the end of what it was given."""
        return self.text[self.at : min(self.at + 1, self.end)]

    @property
    def line(self) -> int:
        return self.lines.position(self.at)[0]

    def before(self, line: int) -> int | None:
        """The nearest line above that says something."""
        for number in range(line - 1, max(line - LINES_BACK_MAX, 0), -1):
            if (content := self.lines.line_text(number).strip()) and not content.startswith("#"):
                return number
        return None

    def report(self, message: str, start: int, end: int, hint: str, fix: tuple[Edit, ...] = ()) -> SourceProblem:
        return SourceProblem("syntax", message, self.lines.span(start, end), hint, fix)


class LineParts(msgspec.Struct, frozen=True):
    """A line of block style: dashes, key and value, perhaps empty. `start` is the offset of the value."""

    indent: int
    dashes: str
    key: str
    value: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.value)

    @property
    def quoting(self) -> tuple[Edit, ...]:
        """The edit that quotes the value; none if there is nothing to quote."""
        return (Edit(self.start, self.end, quote(self.value)),) if self.value else ()


def parts_of(lines: Lines, line: int) -> LineParts | None:
    """The parts of a line, its comment left out; None for a line too long to look at."""
    content = lines.line_text(line)
    if len(content) > LINE_CHARS_MAX:
        return None
    match = _LINE.fullmatch(content)
    assert match is not None  # every part may be empty
    lead, value = match["lead"], match["value"]
    indent = len(lead) - len(lead.lstrip())
    start = lines.start(line) + match.start("value")
    return LineParts(indent, lead.strip(), (match["key"] or "")[:-1].rstrip(), _without_comment(value), start)


def _without_comment(value: str) -> str:
    """A template may hold a # of its own, so a comment is looked for behind the last one."""
    closed = max(value.rfind("}}"), value.rfind("%}"), value.rfind("#}"), 0)
    comment = re.compile(r"(?:^|\s)#").search(value, closed)
    return (value[: comment.start()] if comment else value).rstrip()
