"""Diagnostics for people: place, message and code, the source line, a caret, a hint."""

from collections.abc import Callable, Iterable

from noetl.cli.checking import Checked, Tally
from noetl.cli.console import Console
from noetl.playbook.diagnostics import Diagnostic, Span
from noetl.playbook.source.lines import Lines

LINE_CHARS_MAX = 160
TAB = "    "

Paint = Callable[[str, str], str]
"""Colours a text by a role: error, warning, info, place, caret, hint, code."""


def report(all_checked: Iterable[Checked], _tally: Tally, console: Console) -> None:
    paint = console.paint_data()
    for checked in all_checked:
        for found in checked.diagnostics:
            console.data(render(checked.name, checked.lines, found, paint) + "\n")


def plain(text: str, _role: str) -> str:
    return text


def render(name: str, lines: Lines, diagnostic: Diagnostic, paint: Paint = plain) -> str:
    span = diagnostic.span
    severity = str(diagnostic.severity)
    place = paint(f"{_visible(name)}:{span.line}:{span.column}:", "place")
    message, code = _visible(diagnostic.message), paint(f"[{diagnostic.code}]", "code")
    head = f"{place} {paint(severity + ':', severity)} {message} {code}"
    parts = [head, *_excerpt(lines, span, paint)]
    if diagnostic.hint is not None:
        parts.extend(_hint(diagnostic.hint, paint))
    return "\n".join(parts)


def _excerpt(lines: Lines, span: Span, paint: Paint) -> list[str]:
    line = lines.line_text(span.line)
    if not line.strip():
        return []
    first = max(0, span.column - 1 - LINE_CHARS_MAX // 2) if len(line) > LINE_CHARS_MAX else 0
    shown = line[first : first + LINE_CHARS_MAX]
    start = span.column - 1 - first
    end = span.end_column - 1 - first if span.end_line == span.line else len(shown.rstrip())
    gutter = f"{span.line:>5} | "
    caret = _blank(shown[:start]) + "^" + "~" * (len(_blank(shown[start:end])) - 1)
    return [gutter + _visible(shown), " " * (len(gutter) - 2) + "| " + paint(caret, "caret")]


def _visible(text: str) -> str:
    """Without what a terminal would obey instead of showing it."""
    return "".join(char if char.isprintable() else TAB if char == "\t" else "�" for char in text)


def _blank(text: str) -> str:
    """As many spaces as the text takes up on a terminal."""
    return "".join(TAB if char == "\t" else " " * _width(char) for char in text)


def _width(char: str) -> int:
    code = ord(char)
    wide = 0x1100 <= code <= 0x115F or 0x2E80 <= code <= 0xA4CF or 0xAC00 <= code <= 0xD7A3
    return (
        2
        if wide
        or 0xF900 <= code <= 0xFAFF
        or 0xFE30 <= code <= 0xFE6F
        or 0xFF00 <= code <= 0xFF60
        or 0x1F300 <= code <= 0x1FAFF
        else 1
    )


def _hint(hint: str, paint: Paint) -> list[str]:
    first, *rest = map(_visible, hint.split("\n"))
    return [f"      {paint('=', 'hint')} {first}", *(f"        {line}".rstrip() for line in rest)]
