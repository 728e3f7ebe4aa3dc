"""A unified diff that `patch` and `git apply` take: line ends to the byte, a missing last one noted."""

from difflib import unified_diff

from noetl.cli.reports.text import Paint

NO_LINE_END = "\\ No newline at end of file"


def diff(name: str, before: str, after: str, paint: Paint) -> str:
    name = name.lstrip("/")
    lines = unified_diff(_lines(before), _lines(after), f"a/{name}", f"b/{name}")
    return "".join(_painted(line, paint) for line in lines)


def _lines(text: str) -> list[str]:
    """Only a line feed ends a line here, as for `patch`; a carriage return is part of the line."""
    *whole, last = text.split("\n")
    return [f"{line}\n" for line in whole] + ([f"{last}\n{NO_LINE_END}\n"] if last else [])


def _painted(line: str, paint: Paint) -> str:
    role = {"+": "added", "-": "removed", "@": "hint"}.get(line[0])
    return paint(line.removesuffix("\n"), role) + "\n" if role else line
