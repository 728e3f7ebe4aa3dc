"""What is written to a terminal so that a picture can be drawn over."""

import fcntl
import os
import pty
import struct
import termios
from collections.abc import Iterator
from typing import TextIO

import pytest

from noetl.cli.live.screen import COLUMNS_DEFAULT, LINES_DEFAULT, Screen


class Pty:
    def __init__(self) -> None:
        self._master, slave = pty.openpty()
        self.terminal: TextIO = os.fdopen(slave, "w", encoding="utf-8")

    def resize(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def written(self) -> str:
        return os.read(self._master, 65_536).decode("utf-8")

    def close(self) -> None:
        self.terminal.close()
        os.close(self._master)


@pytest.fixture
def given() -> Iterator[Pty]:
    terminal = Pty()
    terminal.resize(80, 24)
    yield terminal
    terminal.close()


def test_a_picture_is_drawn_over_the_last_one(given: Pty) -> None:
    screen = Screen(given.terminal)
    screen.draw(["one", "two"])
    assert given.written() == "\r\x1b[?7lone\x1b[K\r\ntwo\x1b[K\r\n\x1b[?7h\x1b[J"
    screen.draw(["three"])
    assert given.written() == "\x1b[2A\r\x1b[?7lthree\x1b[K\r\n\x1b[?7h\x1b[J"
    screen.draw([])
    assert given.written().startswith("\x1b[1A\r")


def test_what_is_said_stays_above_the_next_picture(given: Pty) -> None:
    screen = Screen(given.terminal)
    screen.draw(["one", "two"])
    given.written()
    screen.say("cancelling")
    assert given.written() == "\x1b[2A\r\x1b[Jcancelling\r\n"
    screen.draw(["one"])
    assert given.written().startswith("\r\x1b[?7lone")


def test_lines_that_a_narrower_terminal_folds_are_drawn_over_whole(given: Pty) -> None:
    screen = Screen(given.terminal)
    screen.draw(["\x1b[1m" + "x" * 60 + "\x1b[0m", "東" * 15, ""])
    given.written()
    given.resize(20, 24)
    screen.draw(["one"])
    assert given.written().startswith("\x1b[6A\r"), "three lines of 60 columns, two of 30, and an empty one"


def test_a_terminal_that_does_not_know_its_size_is_taken_for_an_old_one(given: Pty) -> None:
    given.resize(0, 0)
    assert Screen(given.terminal).size == (COLUMNS_DEFAULT, LINES_DEFAULT)
