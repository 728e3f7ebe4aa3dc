"""Runs the program inside this process, on streams of its own: the exit code and what it printed."""

from dataclasses import dataclass
from io import BytesIO, TextIOWrapper

from noetl import clictl
from noetl.cli.console import Console

SOUND = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: { name: demo, path: demo }
workflow:
  - step: start
    tool:
      - { name: say, kind: noop }
"""

BROKEN = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: { name: demo, path: demo }
workflow:
  - step: start
    next:
      arcs:
        - step: colect
  - step: collect
    tool:
      - { name: say, kind: noop }
"""


class Screen(TextIOWrapper):
    """A stream in memory that may pass for a terminal."""

    def __init__(self, *, is_terminal: bool) -> None:
        super().__init__(BytesIO(), encoding="utf-8", newline="")
        self.is_terminal = is_terminal

    def isatty(self) -> bool:
        return self.is_terminal

    def printed(self) -> bytes:
        self.flush()
        self.seek(0)
        return bytes(self.buffer.read())


@dataclass(frozen=True)
class Ran:
    code: int
    data: bytes
    err: str

    @property
    def out(self) -> str:
        return self.data.decode("utf-8")


def noetl(*words: str, stdin: bytes = b"", is_terminal: bool = False, allows_colour: bool = True) -> Ran:
    out, err = Screen(is_terminal=is_terminal), Screen(is_terminal=is_terminal)
    typed = TextIOWrapper(BytesIO(stdin))
    code = clictl.run(list(words), Console(out, err, typed, allows_colour=allows_colour))
    return Ran(code, out.printed(), err.printed().decode("utf-8"))
