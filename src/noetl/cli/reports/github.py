"""Diagnostics as commands of a GitHub Actions log, which shows them beside the changed lines."""

from collections.abc import Iterable

from noetl.cli.checking import Checked, Tally
from noetl.cli.console import Console
from noetl.playbook.diagnostics import Diagnostic, Severity

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def report(all_checked: Iterable[Checked], _tally: Tally, console: Console) -> None:
    for checked in all_checked:
        for found in checked.diagnostics:
            console.data(_annotation(checked.name, found) + "\n")


def _annotation(name: str, found: Diagnostic) -> str:
    span = found.span
    properties = {
        "file": name,
        "line": str(span.line),
        "col": str(span.column),
        "endLine": str(span.end_line),
        "endColumn": str(span.end_column),
        "title": found.code,
    }
    fields = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    message = f"{found.message}\n{found.hint}" if found.hint else found.message
    return f"::{_LEVELS[found.severity]} {fields}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
