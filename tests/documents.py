"""Reads the fenced blocks of a Markdown page and runs the commands they show, as a reader would type them.

The convention for authors is in CONTRIBUTING.md, under "Examples in the documentation".
"""

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>```+)(?P<info>[^`]*)$")
EXIT = re.compile(r"^# exit (?P<code>\d+)$")
ELLIPSIS = "…"
COMMAND_TIMEOUT_S = 60


@dataclass(frozen=True)
class Block:
    """A fenced block: its info string, the page's line its text begins on, and the text."""

    info: str
    line: int
    text: str

    @property
    def file(self) -> str | None:
        """The name that the block has as a file: ` ```yaml pages.yaml `."""
        words = self.info.split()
        return words[1] if len(words) == 2 and "." in words[1] else None

    @property
    def language(self) -> str:
        return self.info.removesuffix(self.file or "").strip()


@dataclass(frozen=True)
class Command:
    """One command of a block. `output` is None where the page shows none."""

    line: int
    text: str
    exit_code: int = 0
    output: tuple[str, ...] | None = None


def blocks(page: str) -> Iterator[Block]:
    lines = iter(enumerate(page.splitlines(), 1))
    for number, line in lines:
        if opening := FENCE.match(line):
            body = list(_until_closed(lines, opening["ticks"], len(opening["indent"])))
            yield Block(opening["info"].strip(), number + 1, "".join(f"{text}\n" for text in body))


def _until_closed(lines: Iterator[tuple[int, str]], ticks: str, indent: int) -> Iterator[str]:
    for _, line in lines:
        if line.strip() == ticks:
            return
        yield line[min(indent, len(line) - len(line.lstrip())) :]


def commands(block: Block) -> list[Command]:
    """The `noetl` commands of a `console` or `bash` block; any other block has none."""
    if block.info == "console":
        found = list(_console_commands(block))
    elif block.info == "bash":
        found = list(_bash_commands(block))
    else:
        found = []
    return [command for command in found if command.text.split()[0] == "noetl"]


def _console_commands(block: Block) -> Iterator[Command]:
    """`$ ` begins a command, what follows is its output."""
    lines = block.text.splitlines()
    starts = [index for index, line in enumerate(lines) if line.startswith("$ ")]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        text, length = _joined([lines[start][2:], *lines[start + 1 : end]])
        shown = lines[start + length : end]
        while shown and not shown[-1].strip():
            shown.pop()
        stated = EXIT.match(shown[-1]) if shown else None
        output = tuple(shown[:-1] if stated else shown)
        yield Command(block.line + start, text, int(stated["code"]) if stated else 0, output or None)


def _bash_commands(block: Block) -> Iterator[Command]:
    """Every line is a command; `# exit 3` below it states its exit code."""
    lines = block.text.splitlines()
    index = 0
    while index < len(lines):
        text, length = _joined(lines[index:])
        below = lines[index + length] if index + length < len(lines) else ""
        stated = EXIT.match(below)
        if text.strip() and not text.startswith("#"):
            yield Command(block.line + index, text, int(stated["code"]) if stated else 0)
        index += length


def _joined(lines: Sequence[str]) -> tuple[str, int]:
    """The first line with those that a closing backslash continues, and how many lines that took."""
    taken = [lines[0]]
    while taken[-1].endswith("\\") and len(taken) < len(lines):
        taken.append(lines[len(taken)])
    return "\n".join(taken), len(taken)


def complaint(command: Command, *, folder: Path, programs: Path) -> str | None:
    """Run a command in `folder`, with `programs` first on the path: what differs from the page, or None."""
    ran = subprocess.run(
        ["bash", "-c", command.text],
        cwd=folder,
        env=_environment(programs),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        timeout=COMMAND_TIMEOUT_S,
        check=False,
    )
    if ran.returncode != command.exit_code:
        return _report(command, f"exit {command.exit_code}", f"exit {ran.returncode}", ran.stdout)
    if command.output is not None and not matches(command.output, ran.stdout.splitlines()):
        return _report(command, "this output:\n" + "\n".join(command.output), "another", ran.stdout)
    return None


def _environment(programs: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NOETL_")}
    return kept | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "PYTHONUTF8": "1", "NO_COLOR": "1"}


def _report(command: Command, expected: str, found: str, printed: str) -> str:
    return f"line {command.line}: {command.text}\nexpected {expected}\nfound {found}; it printed:\n{printed}"


def matches(shown: Sequence[str], printed: Sequence[str]) -> bool:
    """Whether the lines agree. A line `…` stands for any number of lines; the first fit is taken."""
    parts = _split_at_ellipsis(shown)
    if len(parts) == 1:
        return _stripped(printed) == parts[0]
    lines = _stripped(printed)
    head, tail = parts[0], parts[-1]
    if len(head) + len(tail) > len(lines) or lines[: len(head)] != head or lines[len(lines) - len(tail) :] != tail:
        return False
    return _appear_in_order(parts[1:-1], lines[len(head) : len(lines) - len(tail)])


def _split_at_ellipsis(shown: Sequence[str]) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for line in _stripped(shown):
        if line.strip() == ELLIPSIS:
            parts.append([])
        else:
            parts[-1].append(line)
    return parts


def _appear_in_order(parts: Sequence[list[str]], lines: list[str]) -> bool:
    at = 0
    for part in parts:
        starts = (n for n in range(at, len(lines) - len(part) + 1) if lines[n : n + len(part)] == part)
        found = next(starts, None)
        if found is None:
            return False
        at = found + len(part)
    return True


def _stripped(lines: Sequence[str]) -> list[str]:
    """Without spaces at the ends of lines and without blank lines at the end."""
    kept = [line.rstrip() for line in lines]
    while kept and not kept[-1]:
        kept.pop()
    return kept
