"""The last line: how many files, and how much was found."""

from noetl.cli.checking import Tally
from noetl.cli.reports.text import Paint


def counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def summary(tally: Tally, paint: Paint, *, shows_infos: bool) -> str:
    parts = [counted(tally.files, "file")]
    if tally.errors:
        parts.append(paint(counted(tally.errors, "error"), "error"))
    if tally.warnings:
        parts.append(paint(counted(tally.warnings, "warning"), "warning"))
    if not tally.errors and not tally.warnings:
        parts.append(paint("no problems", "good"))
    if tally.infos:
        parts.append(counted(tally.infos, "note") + ("" if shows_infos else " (show them with --info)"))
    return ", ".join(parts)
