"""Characters that look like spaces, or like nothing, and are letters to YAML: copied from a web page or a chat."""

import re

from noetl.playbook.diagnostics import Edit
from noetl.playbook.source.failures import LINE_CHARS_MAX, Failure
from noetl.playbook.source.lines import Lines
from noetl.playbook.source.nodes import SourceProblem

_NAMES = {
    "\xa0": "a no-break space",
    "\u202f": "a narrow no-break space",
    "\u3000": "an ideographic space",
    "\u200b": "a zero-width space",
    "\u2060": "a word joiner",
}
_WIDTHLESS = frozenset("\u200b\u2060")
ODD_BLANKS = frozenset({*_NAMES, "\u1680", *map(chr, range(0x2000, 0x200B)), "\u205f"})

_ODD = f"[{''.join(sorted(ODD_BLANKS))}]"
_RUN = re.compile(rf"(?: |{_ODD})+")
_INDENT = re.compile(rf"[ \t]*+({_ODD})")
_BEHIND_MARK = re.compile(rf"[ \t]*+(?:- +)*(?:-|[\w.-]+:)({_ODD})")


def explain_odd_blank(failure: Failure) -> SourceProblem | None:
    """On the line that failed, or on the one above it, where such a blank made one text of a key and its value."""
    above = failure.before(failure.line)
    for line in (failure.line, above) if above is not None else (failure.line,):
        start = failure.lines.start(line)
        if (indent := _INDENT.match(failure.text, start, start + LINE_CHARS_MAX)) is not None:
            return odd_indentation(failure.lines, indent.start(1))
        if (behind := _BEHIND_MARK.match(failure.text, start, start + LINE_CHARS_MAX)) is not None:
            mark = "dash" if failure.text[behind.start(1) - 1] == "-" else "colon"
            return _problem(failure.lines, behind.start(1), f"behind the {mark}")
    return None


def odd_indentation(lines: Lines, start: int) -> SourceProblem:
    return _problem(lines, start, "in the indentation")


def _problem(lines: Lines, start: int, where: str) -> SourceProblem:
    found = lines.text[start]
    run = _RUN.match(lines.text, start)
    assert run is not None  # it begins with such a blank
    name = _NAMES.get(found, "a blank")
    message = f"found {name} (U+{ord(found):04X}) {where}; expected spaces"
    spaces = "".join("" if blank in _WIDTHLESS else " " for blank in run[0])
    hint = "delete it and type spaces; it was perhaps copied from a page"
    return SourceProblem("syntax", message, lines.span(start, run.end()), hint, (Edit(start, run.end(), spaces),))
