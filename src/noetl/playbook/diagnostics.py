"""What a check says about a playbook: a code, a place and, where known, the edit that cures it."""

from enum import StrEnum

import msgspec


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Span(msgspec.Struct, frozen=True, gc=False, order=True):
    """A place in a file: lines and columns from 1, the end exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


class Edit(msgspec.Struct, frozen=True, gc=False, order=True):
    """Replace the characters [start, end) of the source by `text`."""

    start: int
    end: int
    text: str


class Diagnostic(msgspec.Struct, frozen=True, gc=False):
    code: str
    severity: Severity
    message: str
    span: Span
    hint: str | None = None
    fix: tuple[Edit, ...] = ()
