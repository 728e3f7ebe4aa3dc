"""A run of the program that is watched while it goes on: what it says, and what is done to it meanwhile."""

import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Self

import msgspec

from tests.acceptance.process import PROGRAM, TIMEOUT_S, environment, noetl

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: { name: sample, path: sample }\n"
GATE = """\
workflow:
  - step: gate
    tool:
      kind: script
      script: |
        echo waiting
        while [ ! -e go ]; do sleep 0.02; done
"""
"""Waits for the file `go`. More lines of its script and its step may follow."""


class Live:
    """`said` is what came to standard error so far. What it leaves running ends with the test."""

    def __init__(self, *words: str, folder: Path, stdout: int | IO[bytes] = subprocess.PIPE, **changes: str) -> None:
        self.said = ""
        self.folder = folder
        self._process = subprocess.Popen(
            [PROGRAM, *words], cwd=folder, env=environment(**changes), stdout=stdout, stderr=subprocess.PIPE
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait(TIMEOUT_S)
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    def signal(self, *numbers: signal.Signals) -> None:
        for number in numbers:
            self._process.send_signal(number)

    def until_said(self, text: str) -> None:
        until(lambda: text in self.said or not self._read(), lambda: self.said)
        assert text in self.said

    def until_printed(self, text: str) -> None:
        """Until a tool of the run has printed it."""
        while text not in noetl("logs", "@latest", folder=self.folder).stdout:
            assert self._process.poll() is None, self._process.communicate()

    def end(self) -> int:
        until(lambda: not self._read(), lambda: self.said)
        return self._process.wait(TIMEOUT_S)

    def data(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.read().decode("utf-8")

    def _read(self) -> bool:
        """Whether there may be more."""
        assert self._process.stderr is not None
        ready, _, _ = select.select([self._process.stderr], [], [], 0.1)
        data = os.read(self._process.stderr.fileno(), 65_536) if ready else b""
        self.said += data.decode("utf-8")
        return not ready or bool(data)


def until(is_so: Callable[[], bool], told: Callable[[], str] = str) -> None:
    ends_at = time.monotonic() + TIMEOUT_S
    while not is_so():
        assert time.monotonic() < ends_at, told()


def statuses(folder: Path) -> Mapping[str, str]:
    """Of all executions, by their id."""
    ran = noetl("executions", "-o", "json", folder=folder)
    assert ran.returncode == 0, ran.stderr
    listed = msgspec.json.decode(ran.stdout)
    return {each["execution_id"]: each["status"] for each in listed}


def has_process_with(word: str) -> bool:
    """Whether a process is left that has this word in its command line."""
    return any(word.encode() in _words_of(entry) for entry in Path("/proc").iterdir() if entry.name.isdigit())


def _words_of(entry: Path) -> bytes:
    try:
        return (entry / "cmdline").read_bytes()
    except OSError:
        return b""
