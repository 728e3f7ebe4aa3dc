"""A duration that says no length of time."""

from collections.abc import Iterator

from noetl.expressions.template import is_template
from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.document import Document
from noetl.playbook.durations import UNITS_S, seconds_of
from noetl.playbook.rules.rule import Rule
from noetl.playbook.rules.spelling import respell
from noetl.playbook.source.nodes import Scalar
from noetl.playbook.source.tree import shorten
from noetl.playbook.structure import BadDuration

WORDS = {
    "second": "s", "seconds": "s", "sec": "s", "secs": "s", "minute": "m", "minutes": "m", "min": "m", "mins": "m",
    "hour": "h", "hours": "h", "hr": "h", "hrs": "h", "day": "d", "days": "d", "week": "w", "weeks": "w",
}  # fmt: skip
"""What people write for the units."""


def check(document: Document) -> Iterator[Diagnostic]:
    for finding in document.findings:
        if isinstance(finding, BadDuration):
            yield _report(finding.node, finding.field.name)


def _report(node: Scalar, name: str) -> Diagnostic:
    message = f'"{name}" takes a length of time such as 24h; found {shorten(node.text) or "nothing"}'
    if is_template(node.text):
        return RULE.at(node, message, "a template cannot stand here; write the time itself")
    meant = _meant(node.text)
    if meant is not None:
        return RULE.at(node, message, f"write {meant}", respell(node, meant))
    return RULE.at(node, message, f"write a number with one of the units {', '.join(UNITS_S)}, such as 90s, 24h or 7d")


def _meant(text: str) -> str | None:
    """`24 hours` and `24H` as they are written here."""
    small = text.strip().lower()
    number = small.rstrip("abcdefghijklmnopqrstuvwxyz ")
    unit = small[len(number) :].strip()
    found = f"{number}{WORDS.get(unit, unit)}"
    return found if seconds_of(found) is not None else None


RULE = Rule("NOE115", "bad-duration", Severity.ERROR, check)
