"""Where a verb reads and writes: data on one stream, talk on the other, colour only where it is wanted."""

from __future__ import annotations

import os

TYPE_CHECKING = False  # the program starts with this file, and typing is slow to import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

    Paint = Callable[[str, str], str]

OK = 0
USAGE = 2
INVALID = 3
UNWRITTEN = 5
BUG = 70
INTERRUPTED = 130
BROKEN_PIPE = 141

_CLEAR_LINE = "\r\x1b[K"
_STYLES = {
    "error": "1;31",
    "warning": "1;33",
    "info": "1;36",
    "place": "1",
    "caret": "1;32",
    "hint": "1;34",
    "code": "2",
    "good": "32",
    "title": "1;4",
    "strong": "1",
    "sample": "36",
    "added": "32",
    "removed": "31",
}


class Stopped(Exception):
    """Ends a verb early: the message for the person, and the exit code."""

    def __init__(self, message: str, code: int = USAGE) -> None:
        super().__init__(message)
        self.message = message
        self.code = code


class OutputLost(Stopped):
    """Standard output takes nothing: it is closed, or what it leads to is full."""

    def __init__(self, error: OSError) -> None:
        super().__init__(f"noetl: standard output cannot be written: {error.strerror}", UNWRITTEN)


class Console:
    """The streams of the process. `allows_colour` is the environment's word; `--color` may overrule it.

    `can_move` says whether a terminal can draw over what it shows. Where nobody hears the talk any more, the work goes
    on without. Data that cannot be written ends it.
    """

    __slots__ = ("_allows_colour", "_can_move", "_choice", "_shows_progress", "err", "out", "stdin")

    def __init__(self, out: TextIO, err: TextIO, stdin: TextIO, *, allows_colour: bool, can_move: bool = True) -> None:
        self.out = out
        self.err = err
        self.stdin = stdin
        self._allows_colour = allows_colour
        self._can_move = can_move
        self._choice = "auto"
        self._shows_progress = False

    def choose_colour(self, choice: str) -> None:
        self._choice = choice

    def data(self, text: str) -> None:
        self._clear_progress()
        try:
            self.out.write(text)
        except OSError as error:
            raise self._lost(error) from error

    def data_bytes(self, data: bytes) -> None:
        """To the byte: no translation of line ends, no encoding of the terminal's."""
        self._clear_progress()
        self.flush_data()
        try:
            self.out.buffer.write(data)
        except OSError as error:
            raise self._lost(error) from error

    def say(self, text: str) -> None:
        self._clear_progress()
        self.flush_data()
        self._talk(f"{text}\n")

    def progress(self, text: str) -> None:
        """A line that the next one takes the place of; only a terminal shows it."""
        if self._can_move and self.err.isatty():
            self._clear_progress()
            self._talk(text)
            self.flush_talk()
            self._shows_progress = True

    def _clear_progress(self) -> None:
        if self._shows_progress:
            self._talk(_CLEAR_LINE)
            self.flush_talk()
            self._shows_progress = False

    def _talk(self, text: str) -> None:
        try:
            self.err.write(text)
        except OSError:
            forget(self.err)

    def read_bytes(self, count_max: int) -> bytes:
        return self.stdin.buffer.read(count_max)

    def flush(self) -> None:
        self._clear_progress()
        self.flush_data()
        self.flush_talk()

    def flush_data(self) -> None:
        try:
            self.out.flush()
        except OSError as error:
            raise self._lost(error) from error

    def flush_talk(self) -> None:
        try:
            self.err.flush()
        except OSError:
            forget(self.err)

    def _lost(self, error: OSError) -> OSError | OutputLost:
        """A reader that went away is no trouble worth a word."""
        forget(self.out)
        return error if isinstance(error, BrokenPipeError) else OutputLost(error)

    def paint_data(self) -> Paint:
        return _coloured if self.has_colour(self.out) else _plain

    def paint_talk(self) -> Paint:
        return _coloured if self.has_colour(self.err) else _plain

    def is_live(self) -> bool:
        """Whether what is told may be drawn over: on a terminal that can move its cursor and shows any letter."""
        return self._can_move and self.err.isatty() and self.err.encoding.lower() == "utf-8"

    def has_colour(self, stream: TextIO) -> bool:
        return self._choice == "always" or (self._choice == "auto" and self._allows_colour and stream.isatty())


def forget(stream: TextIO) -> None:
    """From now on a stream takes all and keeps nothing. What it still holds must not fail again at the very end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _coloured(text: str, role: str) -> str:
    return f"\x1b[{_STYLES[role]}m{text}\x1b[0m" if text else text


def _plain(text: str, _role: str) -> str:
    return text
