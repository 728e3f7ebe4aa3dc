"""Runs the program on a terminal of its own, and shows what a person would see there."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

import pyte

from tests.acceptance.process import PROGRAM, TIMEOUT_S, environment

CTRL_C = "\x03"
FRAME = re.compile(rb"\x1b\[\?7l(.*?)\x1b\[\?7h", re.DOTALL)
"""One drawing of the picture: all its lines."""

ON_TERMINAL = """\
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
"""The terminal becomes that of the process, so that a Ctrl-C typed there reaches it."""


class Terminal:
    """`raw` is all that was written to it. Standard output is a pipe unless it `shows_data`."""

    def __init__(
        self, *words: str, folder: Path, columns: int = 80, lines: int = 24, shows_data: bool = False, **changes: str
    ) -> None:
        self.raw = b""
        self.screen = pyte.HistoryScreen(columns, lines, history=10_000)
        self._stream = pyte.ByteStream(self.screen)
        self._master, slave = pty.openpty()
        self._set_size(columns, lines)
        self._process = subprocess.Popen(
            [sys.executable, "-c", ON_TERMINAL, PROGRAM, *words],
            cwd=folder, env=environment(**changes), start_new_session=True,
            stdin=slave, stdout=slave if shows_data else subprocess.PIPE, stderr=slave,
        )  # fmt: skip
        os.close(slave)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait(TIMEOUT_S)
        if self._process.stdout is not None:
            self._process.stdout.close()
        os.close(self._master)

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def resize(self, columns: int, lines: int) -> None:
        self._set_size(columns, lines)
        self.screen.resize(lines, columns)
        os.killpg(self._process.pid, signal.SIGWINCH)

    def _set_size(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def until(self, is_so: Callable[[], bool]) -> None:
        """Reads what is written until something can be seen."""
        ends_at = time.monotonic() + TIMEOUT_S
        while not is_so():
            assert self._read(ends_at), f"not seen before the end:\n{self.text}\n{self.raw!r}"

    def end(self) -> tuple[int, str]:
        """The exit code, and what went to standard output."""
        ends_at = time.monotonic() + TIMEOUT_S
        while self._read(ends_at):
            pass
        data = self._process.stdout.read() if self._process.stdout is not None else b""
        return self._process.wait(TIMEOUT_S), data.decode("utf-8")

    def _read(self, ends_at: float) -> bool:
        """Whether there was something; nothing is left once the program has ended."""
        ready, _, _ = select.select([self._master], [], [], max(0.0, ends_at - time.monotonic()))
        assert ready, f"nothing was written for {TIMEOUT_S} s:\n{self.text}"
        try:
            data = os.read(self._master, 65_536)
        except OSError:
            return False
        self.raw += data
        self._stream.feed(data)
        return bool(data)

    @property
    def shown(self) -> list[str]:
        """The lines on the screen that are not empty."""
        return [line.rstrip() for line in self.screen.display if line.strip()]

    @property
    def all_lines(self) -> list[str]:
        """These, and before them those that have scrolled away."""
        gone = ["".join(row[column].data for column in range(self.screen.columns)) for row in self.screen.history.top]
        return [line.rstrip() for line in (*gone, *self.screen.display) if line.strip()]

    @property
    def text(self) -> str:
        return "\n".join(self.shown)

    @property
    def frames(self) -> list[str]:
        return [frame.decode("utf-8") for frame in FRAME.findall(self.raw)]
