"""What git leaves in a file when a merge could not be finished: both versions, between markers."""

import re

from noetl.playbook.source.failures import Failure
from noetl.playbook.source.lines import Lines
from noetl.playbook.source.nodes import SourceProblem

CONFLICTS_MAX = 100

_OPENING = "<<<<<<<"
_CONFLICT = re.compile(r"^<{7} [^\n]*$(?:\n(?!<{7} |>{7} )[^\n]*)*+\n>{7} ", re.MULTILINE)
_MARKER = re.compile(r"(?:<{7}|={7}|>{7}|\|{7})(?: |$)")
_HINT = "keep one of the two versions and delete the lines that begin with <<<<<<<, ======= and >>>>>>>"


def find_conflicts(lines: Lines) -> list[SourceProblem]:
    """The place of each conflict. Nothing else of such a file means what its author wrote."""
    if _OPENING not in lines.text:
        return []
    found: list[SourceProblem] = []
    for match in _CONFLICT.finditer(lines.text):
        found.append(_problem(lines, match.start()))
        if len(found) == CONFLICTS_MAX:
            break
    return found


def explain_conflict(failure: Failure) -> SourceProblem | None:
    """A marker that was left behind alone."""
    offsets = (failure.at, failure.context)
    for line in dict.fromkeys(failure.lines.position(offset)[0] for offset in offsets if offset is not None):
        start = failure.lines.start(line)
        if _MARKER.match(failure.lines.line_text(line)) is not None:
            return _problem(failure.lines, start)
    return None


def _problem(lines: Lines, start: int) -> SourceProblem:
    message = f"found {lines.text[start : start + 7]}, a marker of a merge conflict; both versions are in the file"
    return SourceProblem("syntax", message, lines.span(start, start + 7), _HINT)
