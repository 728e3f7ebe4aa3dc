"""The program `noetl`: finds the verb, hands it the words, and turns every way to end into an exit code.

It imports almost nothing itself, so that `noetl --help` answers at once.
"""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from io import RawIOBase, TextIOWrapper

from noetl import __version__, settings
from noetl.cli.console import BROKEN_PIPE, BUG, INTERRUPTED, OK, Console, OutputLost, Stopped
from noetl.cli.verbs import PLANNED, VERBS
from noetl.errors import closest, is_one_edit

TYPE_CHECKING = False  # the program starts with this file, and typing is slow to import
if TYPE_CHECKING:
    from typing import TextIO

OF_FILES = {"validate", "fix", "migrate", "graph", "schema", "init"}
"""Verbs that take names of files, whatever bytes these are, and store no other word."""

OVERVIEW = """\
NoETL checks and runs playbooks: YAML files that orchestrate APIs, databases and scripts.

usage: noetl VERB [ARGUMENT…]

{verbs}

  noetl VERB --help     the arguments of a verb
  noetl --version       the version of this program

Exit codes: 0 all is well, 1 a run failed, 2 a mistake in the command, 3 a mistake in a playbook,
4 a run was cancelled, 5 the store cannot be reached.
"""


def main(words: Sequence[str] | None = None) -> int:
    """The exit code for these words; those of the process when none are given."""
    given = list(sys.argv[1:] if words is None else words)
    _open_closed()
    _spare_encodings()
    allows_colour, can_move = settings.allows_colour(os.environ), settings.can_move(os.environ)
    console = Console(sys.stdout, sys.stderr, sys.stdin, allows_colour=allows_colour, can_move=can_move)
    try:
        return run(given, console)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        return BROKEN_PIPE


def _open_closed() -> None:
    """A stream that is closed takes and gives nothing. Its number must not become that of some file of ours."""
    for number, flags in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):  # writing to 1 then fails, and is told
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, flags)
    sys.stdin = sys.stdin or open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 — open as long as the program is
    sys.stdout = _whole(sys.stdout or _writing(1, "utf-8"))
    sys.stderr = sys.stderr or _writing(2, "utf-8")


def _whole(stream: "TextIO") -> "TextIO":
    """One that writes all that it is given. With PYTHONUNBUFFERED, Python's own drops what a write had no room for."""
    is_raw = isinstance(getattr(stream, "buffer", None), RawIOBase)
    return _writing(stream.fileno(), stream.encoding) if is_raw else stream


def _writing(number: int, encoding: str) -> TextIOWrapper:
    return open(number, "w", encoding=encoding, closefd=False)


def _spare_encodings() -> None:
    """A terminal that lacks a letter shows its number instead of ending the program."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def run(words: list[str], console: Console) -> int:
    """The one handler at the top: what a person did wrong becomes a message, and so does a bug of ours."""
    try:
        code = _answer(words, console)
        console.flush()
    except Stopped as stopped:
        return _told(stopped, console)
    except BrokenPipeError:
        raise
    except Exception as error:
        if "--debug" in words:
            raise
        found = f"noetl: a bug in NoETL, not in your playbook: {type(error).__name__}: {error}"
        return _told(Stopped(f"{found}\n  = run it again with --debug and report what that prints", BUG), console)
    return code


def _told(stopped: Stopped, console: Console) -> int:
    """What ended the verb is told, also where the data that stood before it cannot be written."""
    try:
        console.say(stopped.message)
    except OutputLost:
        console.say(stopped.message)
    return stopped.code


def _answer(words: list[str], console: Console) -> int:
    leading, verb, rest = _split(words)
    if verb == "help" or (verb is None and not {"-V", "--version"} & set(leading)):
        return _help([word for word in rest if not word.startswith("-")], leading, console)
    if verb is None:
        console.data(f"noetl {__version__}\n")
        return OK
    return _call(verb, [*leading, *rest], console)


def _split(words: list[str]) -> tuple[list[str], str | None, list[str]]:
    """The options before the verb, the verb, and what follows it."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] == "--color" else 1
    return words[:at], words[at] if at < len(words) else None, words[at + 1 :]


def _help(topics: list[str], leading: list[str], console: Console) -> int:
    if topics:
        return _call(topics[0], ["--help"], console)
    unknown = [word for word in leading if word not in {"-h", "--help", "--debug"}]
    if unknown:
        near = closest(unknown[0], ("--help", "--version"))
        meant = f'did you mean "{near}"?' if near else "options stand after the verb"
        raise Stopped(f'noetl: unknown option "{unknown[0]}"; {meant}\n  = see: noetl --help')
    console.data(OVERVIEW.format(verbs="\n".join(f"  {name:<11} {summary}" for name, summary, _ in VERBS)))
    return OK


def _call(verb: str, words: list[str], console: Console) -> int:
    modules = {name: module for name, _, module in VERBS}
    if verb not in modules:
        raise Stopped(_unknown(verb))
    if verb not in OF_FILES:
        _check_text(words)
    code: int = import_module(modules[verb]).main(words, console)
    return code


def _check_text(words: list[str]) -> None:
    """Bytes that the locale cannot read come as signs that stand for no letter, and what is stored must be text."""
    for word in words:
        shown = word.encode("utf-8", "replace").decode()
        if shown != word:
            cure = "write it in UTF-8, in a locale that has it, such as LC_ALL=C.UTF-8"
            raise Stopped(f'noetl: an argument is not text in this locale: "{shown}"\n  = {cure}')


def _unknown(verb: str) -> str:
    if verb in PLANNED:
        return f'noetl: "{verb}" is planned; this version checks playbooks and runs them on this machine'
    names = [name for name, _, _ in VERBS]
    near = closest(verb, names) or next((name for name in names if is_one_edit(verb, name)), None)
    meant = f'; did you mean "{near}"?' if near else ""
    return f'noetl: there is no verb "{verb}"{meant}\n  = the verbs are: {", ".join(names)}'
