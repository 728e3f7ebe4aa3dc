"""Diagnostics for programs. The form is a contract: fields are added, never renamed."""

from collections.abc import Iterable

import msgspec

from noetl.cli.checking import Checked, Tally
from noetl.cli.console import Console
from noetl.playbook.diagnostics import Diagnostic


class Finding(msgspec.Struct, frozen=True):
    code: str
    severity: str
    message: str
    line: int
    column: int
    end_line: int
    end_column: int
    hint: str | None
    fixable: bool


class File(msgspec.Struct, frozen=True):
    path: str
    diagnostics: list[Finding]


class Report(msgspec.Struct, frozen=True):
    files: list[File]
    errors: int
    warnings: int


def report(all_checked: Iterable[Checked], tally: Tally, console: Console) -> None:
    files = [File(checked.name, [_finding(found) for found in checked.diagnostics]) for checked in all_checked]
    console.data(printed(Report(files, tally.errors, tally.warnings)))


def printed(data: object) -> str:
    """JSON as every verb prints it."""
    return msgspec.json.format(msgspec.json.encode(data), indent=2).decode() + "\n"


def _finding(found: Diagnostic) -> Finding:
    span = found.span
    return Finding(
        found.code,
        found.severity.value,
        found.message,
        span.line,
        span.column,
        span.end_line,
        span.end_column,
        found.hint,
        bool(found.fix),
    )
