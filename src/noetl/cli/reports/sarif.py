"""Diagnostics in SARIF 2.1.0, which code hosts and editors read. Columns count characters; fixes are included."""

import os
from collections.abc import Iterable
from urllib.parse import quote

from noetl import __version__
from noetl.cli.checking import Checked, Tally
from noetl.cli.console import Console
from noetl.cli.pages import opening, page_of
from noetl.cli.reports.json import printed
from noetl.playbook.diagnostics import Diagnostic, Edit, Severity, Span
from noetl.playbook.rules import RULES
from noetl.playbook.rules.rule import Rule
from noetl.playbook.source.lines import Lines

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}

Json = dict[str, object]


def report(all_checked: Iterable[Checked], _tally: Tally, console: Console) -> None:
    places: dict[str, int] = {}
    results = [_result(checked, found, places) for checked in all_checked for found in checked.diagnostics]
    rules = {rule.code: rule for rule in RULES}
    driver: Json = {"name": "noetl", "version": __version__, "rules": [_rule(rules[code]) for code in places]}
    run: Json = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    console.data(printed({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}))


def _rule(rule: Rule) -> Json:
    page = page_of(rule)
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": opening(page)},
        "help": {"text": page, "markdown": page},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
    }


def _result(checked: Checked, found: Diagnostic, places: dict[str, int]) -> Json:
    """`places` gives each rule that was met its place in the list of rules."""
    location: Json = {"uri": _uri(checked.name)}
    result: Json = {
        "ruleId": found.code,
        "ruleIndex": places.setdefault(found.code, len(places)),
        "level": _LEVELS[found.severity],
        "message": {"text": f"{found.message}\n{found.hint}" if found.hint else found.message},
        "locations": [{"physicalLocation": {"artifactLocation": location, "region": _region(found.span)}}],
    }
    if found.fix:
        changes = [{"artifactLocation": location, "replacements": [_replacement(checked.lines, e) for e in found.fix]}]
        result["fixes"] = [{"description": {"text": "the fix of `noetl fix`"}, "artifactChanges": changes}]
    return result


def _uri(name: str) -> str:
    path = quote(name.replace(os.sep, "/"))
    return f"file://{path}" if os.path.isabs(name) else path


def _region(span: Span) -> Json:
    return {
        "startLine": span.line,
        "startColumn": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
    }


def _replacement(lines: Lines, edit: Edit) -> Json:
    return {"deletedRegion": _region(lines.span(edit.start, edit.end)), "insertedContent": {"text": edit.text}}
