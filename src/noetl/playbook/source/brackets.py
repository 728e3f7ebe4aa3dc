"""Quotes and brackets that are not closed, closed wrongly or followed by text; wrong escapes in quotes."""

from noetl.playbook.diagnostics import Edit
from noetl.playbook.source.failures import LINE_CHARS_MAX, Failure
from noetl.playbook.source.nodes import SourceProblem, Style

_CLOSING = {"[": "]", "{": "}"}


def explain_open_quote(failure: Failure) -> SourceProblem | None:
    stopped = ("found unexpected end of stream", "found unexpected document indicator")
    if failure.context is None or failure.problem not in stopped:
        return None
    mark = failure.text[failure.context]
    message = f"the quote {mark} opened here is never closed"
    return failure.report(message, failure.context, failure.context + 1, f"add the closing {mark}")


def explain_escape(failure: Failure) -> SourceProblem | None:
    back = {
        "found unknown escape character": 0,
        "did not find expected hexdecimal number": 2,
        "found invalid Unicode character escape code": 2,
    }.get(failure.problem)
    if back is None:
        return None
    start = failure.at - back
    found = failure.text[start : start + 2]
    wrong = "is no escape that YAML knows" if back == 0 else "is not followed by the digits of a character"
    message = f"{found} {wrong}"
    hint = f"inside double quotes write \\{found} for the two characters {found}, or use single quotes"
    return failure.report(message, start, start + 2, hint, (Edit(start, start, "\\"),))


def explain_after_quote(failure: Failure) -> SourceProblem | None:
    """Text behind a closing quote: a quote inside the text, or one that was to be closed lines above."""
    last = failure.last
    if last is None or last.style not in {Style.SINGLE, Style.DOUBLE} or last.end_line != failure.line:
        return None
    mark = failure.text[last.start]
    if last.line < last.end_line:
        message = f"the quote {mark} opened here ends only on line {last.end_line}, where more text follows"
        return failure.report(message, last.start, last.start + 1, f"close it on line {last.line}")
    if failure.found == "," and not failure.lines.line_text(failure.line).rstrip().rpartition(",")[2]:
        fix = (Edit(failure.at, failure.at + 1, ""),)
        return failure.report(
            "found a comma behind the value",
            failure.at,
            failure.at + 1,
            "delete it: each key has a line of its own",
            fix,
        )
    inner = "''" if last.style is Style.SINGLE else '\\"'
    hint = f"put quotes around the whole value; inside them write {mark} as {inner}"
    return failure.report("found text behind the closing quote", failure.at, failure.at + 1, hint)


def explain_after_bracket(failure: Failure) -> SourceProblem | None:
    before = failure.text[: failure.at][-LINE_CHARS_MAX:].rstrip(" \t")[-1:]
    if failure.opening is not None or before not in {"]", "}"}:
        return None
    hint = "delete it, or quote the whole value"
    return failure.report(f"found text behind the closing {before}", failure.at, failure.at + 1, hint)


def explain_open_bracket(failure: Failure) -> SourceProblem | None:
    """A list or mapping in brackets that does not go on as it should."""
    opening = failure.opening
    if opening is None:
        return None
    mark = failure.text[opening]
    closing = _CLOSING[mark]
    line = failure.lines.position(opening)[0]
    if not failure.found or (failure.line > line and _indent(failure, failure.line) <= _indent(failure, line)):
        message = f"the {mark} opened here is never closed"
        return failure.report(message, opening, opening + 1, f"add the closing {closing}")
    found = failure.found.strip() or "a line break"
    message = f"found {found}; expected , or {closing} for the {mark} on line {line}"
    hint = f"add the {closing} or a comma; quote a text that holds any of , [ ] {{ }} or a colon and a space"
    return failure.report(message, failure.at, failure.at + 1, hint)


def _indent(failure: Failure, line: int) -> int:
    content = failure.lines.line_text(line)
    return len(content) - len(content.lstrip())
