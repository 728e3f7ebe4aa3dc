"""Mistakes of layout: tabs, a missing space after a colon or dash, lines indented like none above."""

import re
import sys

from noetl.playbook.diagnostics import Edit
from noetl.playbook.source.failures import LINE_CHARS_MAX, Failure, parts_of
from noetl.playbook.source.nodes import SourceProblem

_TIGHT_COLON = re.compile(r"\s*(?:-\s+)*[\w.-]+(:)(?=[^\s:/])")
_NO_COLON = re.compile(r"[ \t]*+(?:- +)*([A-Za-z_]\w*) +([\[{])")
_TIGHT_DASH = re.compile(r"\s*(-)(?=[^\s\-.\d])")
_LEVELS_MAX = 8
_SHOWN_CHARS_MAX = 30


def explain_tab(failure: Failure) -> SourceProblem | None:
    content = failure.lines.line_text(failure.line)
    blank = content[: len(content) - len(content.lstrip(" \t"))]
    if "\t" not in blank:
        return _explain_tab_behind(failure)
    start = failure.lines.start(failure.line) + blank.index("\t")
    end = start + len(blank.lstrip(" "))
    return failure.report("found a tab in the indentation; expected spaces", start, end, "indent with spaces")


def _explain_tab_behind(failure: Failure) -> SourceProblem | None:
    """`-\tkey: value`: behind a dash a tab cannot tell how far the key is indented."""
    if failure.found != "\t":
        return None
    fix = (Edit(failure.at, failure.at + 1, " "),)
    return failure.report("found a tab; expected a space", failure.at, failure.at + 1, "write a space", fix)


def explain_missing_space(failure: Failure) -> SourceProblem | None:
    """`key:value` and `-item` are plain text to YAML, perhaps over several lines; it stumbles behind them."""
    for pattern, name in ((_TIGHT_DASH, "dash"), (_TIGHT_COLON, "colon")):
        if offsets := _tight_places(failure, pattern):
            fix = tuple(Edit(offset, offset, " ") for offset in offsets)
            hint = f"put a space after the {name}"
            return failure.report(f"no space after the {name}", offsets[0] - 1, offsets[0], hint, fix)
    return None


def _tight_places(failure: Failure, pattern: re.Pattern[str]) -> list[int]:
    """The offsets for the missing spaces: on the failing line, and on the lines above it without a gap."""
    found: list[int] = []
    line: int | None = failure.line
    while line is not None:
        match = pattern.match(failure.lines.line_text(line))
        if match is not None:
            found.append(failure.lines.start(line) + match.end(1))
        elif line != failure.line:
            break
        line = failure.before(line)
    return found[::-1]


def explain_bracket_without_colon(failure: Failure) -> SourceProblem | None:
    """`loop { in: … }`."""
    start = failure.lines.start(failure.line)
    match = _NO_COLON.match(failure.text, start, start + LINE_CHARS_MAX)
    if match is None:
        return None
    message = f'no colon between "{match[1]}" and {match[2]}'
    fix = (Edit(match.end(1), match.end(1), ":"),)
    return failure.report(message, match.end(1), match.start(2), "put a colon after the key", fix)


def explain_missing_key(failure: Failure) -> SourceProblem | None:
    content = failure.lines.line_text(failure.line)
    indent = len(content) - len(content.lstrip())
    if failure.found != ":" or failure.at != failure.lines.start(failure.line) + indent:
        return None
    hint = "write the key before the colon"
    return failure.report("a colon without a key before it", failure.at, failure.at + 1, hint)


def explain_extra_key(failure: Failure) -> SourceProblem | None:
    """A key where the line above already holds a complete value, or no key at all."""
    above, parts = failure.before(failure.line), parts_of(failure.lines, failure.line)
    upper = parts_of(failure.lines, above) if above is not None else None
    if parts is None or upper is None or failure.found != ":":
        return None
    start = failure.lines.start(failure.line) + parts.indent
    if not upper.key:
        message = f'line {above} has no colon; expected "key: value"'
        hint = "add the colon, or quote a text that goes over several lines"
        return failure.report(message, upper.start, upper.end, hint)
    message = f'a key below the value of "{upper.key}" on line {above}'
    hint = f'align it with "{upper.key}", or leave the value of "{upper.key}" empty'
    return failure.report(message, start, failure.at, hint)


def explain_missing_colon(failure: Failure) -> SourceProblem | None:
    """A line that has to be a key but has no colon."""
    if failure.context is None or "could not find expected ':'" not in failure.problem:
        return None
    line = failure.lines.position(failure.context)[0]
    end = failure.lines.start(line) + len(failure.lines.line_text(line).rstrip())
    shown = failure.text[failure.context : end][:_SHOWN_CHARS_MAX]
    hint = "add a colon and a value, or indent the line if it belongs to the text above"
    return failure.report(f'found "{shown}"; expected "key: value"', failure.context, end, hint)


def explain_inline_list(failure: Failure) -> SourceProblem | None:
    if "block sequence entries are not allowed" not in failure.problem:
        return None
    hint = "put each item on a line of its own below the key, or write [a, b]"
    return failure.report("a list cannot start on the line of its key", failure.at, failure.at + 1, hint)


def explain_indentation(failure: Failure) -> SourceProblem | None:
    """A line that begins where no line above begins, or an item among keys, or a key among items."""
    parts = parts_of(failure.lines, failure.line)
    if parts is None or failure.at != failure.lines.start(failure.line) + parts.indent or not failure.found:
        return None
    levels = _levels_above(failure)
    if not levels or parts.indent in levels:
        return _explain_misplaced(failure, is_item=bool(parts.dashes))
    *others, last = map(str, sorted(levels))
    shown = f"{', '.join(others)} or {last}" if others else last
    message = f"this line is indented by {parts.indent}; the lines above it by {shown}"
    return failure.report(message, failure.at, failure.at + 1, _alignment(levels, parts.indent))


def _alignment(levels: dict[int, int], indent: int) -> str:
    """The lines above that come nearest: one that is indented less, and one that is indented more."""
    less, more = [at for at in levels if at < indent][:1], [at for at in levels if at > indent][-1:]
    lines = [f"line {levels[at]}" for at in (*less, *more)]
    return (
        f"align it with {' or '.join(lines)}, whichever it belongs to"
        if len(lines) > 1
        else f"align it with {lines[0]}"
    )


def _explain_misplaced(failure: Failure, *, is_item: bool) -> SourceProblem | None:
    if is_item and failure.problem == "did not find expected key":
        message, hint = "found a list item; expected a key", _key_before(failure)
    elif not is_item and failure.problem == "did not find expected '-' indicator":
        message, hint = "found a key; expected a list item", 'begin it with "- ", or indent it less'
    else:
        return None
    return failure.report(message, failure.at, failure.at + 1, hint)


def _key_before(failure: Failure) -> str:
    """Under a key without a value the item was to be indented; elsewhere the key itself is missing."""
    above = failure.before(failure.line)
    upper = parts_of(failure.lines, above) if above is not None else None
    is_open = upper is not None and upper.key and not upper.value
    return "indent it to belong to the line above" if is_open else "write the key of the list on a line before it"


def _levels_above(failure: Failure) -> dict[int, int]:
    """The indentations that are open above the line, the innermost first, each with its nearest line."""
    levels: dict[int, int] = {}
    lowest = sys.maxsize
    line = failure.before(failure.line)
    while line is not None and len(levels) < _LEVELS_MAX:
        content = failure.lines.line_text(line)
        indent = len(content) - len(content.lstrip(" "))
        if indent < lowest:
            lowest = indent
            levels[indent] = line
        line = failure.before(line)
    return levels
