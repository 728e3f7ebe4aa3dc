"""Values that YAML cannot read without quotes: templates, a second colon, and special first characters."""

import re

from noetl.playbook.diagnostics import Edit
from noetl.playbook.source.failures import Failure, parts_of
from noetl.playbook.source.nodes import SourceProblem
from noetl.playbook.source.scalars import quote

TEMPLATE_MESSAGE = "an unquoted template; YAML takes the { at its start for a mapping"

_SHOWN_CHARS_MAX = 60
_SPECIAL = {
    "@": "reserved by YAML",
    "`": "reserved by YAML",
    "%": "for directives in YAML",
    "*": "for aliases in YAML",
    "&": "for anchors in YAML",
    "!": "for tags in YAML",
    "?": "for keys in YAML",
    "}": "for the end of a mapping in YAML",
    "]": "for the end of a list in YAML",
    ",": "for separating items in YAML",
}
_FLOW_TEMPLATE = re.compile(r"(?<=[\[{,:\s])\{\{.*?\}\}[^,\]}]*")


def quote_hint(what: str, value: str) -> str:
    return f"quote {what}: {quote(value if len(value) <= _SHOWN_CHARS_MAX else value[:_SHOWN_CHARS_MAX] + '…')}"


def explain_template(failure: Failure) -> SourceProblem | None:
    """An unquoted `{{ … }}` on the line that failed, or on the line where the open bracket is."""
    offsets = (failure.at, failure.opening, failure.context)
    for line in dict.fromkeys(failure.lines.position(offset)[0] for offset in offsets if offset is not None):
        if (problem := _template_on(failure, line)) is not None:
            return problem
    return None


def _template_on(failure: Failure, line: int) -> SourceProblem | None:
    parts = parts_of(failure.lines, line)
    if parts is None:
        return None
    if not parts.value.startswith(("{{", "{%", "{#")):
        return _template_in_flow(failure, parts.start, parts.value)
    if parts.value.count("{") != parts.value.count("}"):
        message = "an unquoted template that is not closed on its line"
        return failure.report(message, parts.start, parts.end, "close it and quote the whole value")
    hint = quote_hint("the template", parts.value)
    return failure.report(TEMPLATE_MESSAGE, parts.start, parts.end, hint, parts.quoting)


def _template_in_flow(failure: Failure, offset: int, value: str) -> SourceProblem | None:
    match = _FLOW_TEMPLATE.search(value) if value.startswith(("[", "{")) else None
    if match is None:
        return None
    found = match[0].rstrip()
    start = offset + match.start()
    fix = (Edit(start, start + len(found), quote(found)),)
    return failure.report(TEMPLATE_MESSAGE, start, start + len(found), quote_hint("the template", found), fix)


def explain_second_colon(failure: Failure) -> SourceProblem | None:
    """`key: value: more`."""
    parts = parts_of(failure.lines, failure.line)
    if parts is None or not parts.key or parts.start > failure.at or failure.found != ":":
        return None
    message = f'a second colon in the unquoted value of "{parts.key}"'
    hint = quote_hint("the value", parts.value)
    return failure.report(message, failure.at, failure.at + 1, hint, parts.quoting)


def explain_special_start(failure: Failure) -> SourceProblem | None:
    """A value that begins with a character which means something else to YAML."""
    parts = parts_of(failure.lines, failure.line)
    if parts is None or failure.opening is not None or parts.value[:1] not in _SPECIAL:
        return None
    first = parts.value[0]
    message = f"a value cannot start with {first} unless it is quoted; {first} is {_SPECIAL[first]}"
    fix = parts.quoting if parts.key or parts.dashes else ()
    return failure.report(message, parts.start, parts.end, quote_hint("the value", parts.value), fix)
