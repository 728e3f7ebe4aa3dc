"""Warm children: interpreters that have started already, each for one playbook alone."""

import asyncio
from codecs import getincrementaldecoder
from collections.abc import Mapping
from pathlib import Path

import msgspec

from noetl.ports import Console
from noetl.processes import Command, Process, death
from noetl.tools.python.channel import Channel
from noetl.tools.python.child import MUTE_CODE

PROGRAM = str(Path(__file__).with_name("child.py"))
MUTE_S = 0.1
"""How long a child may live whose channel is closed: one that dies closes it too, a little before its end is known."""

MUTE = (
    "the code closed the channel to its worker, as `os.closerange` does, or wrote into it: no result can come through"
)

ANSWER_SLACK_BYTES = 1024 * 1024
"""What may stand around a result: a traceback at most."""

_decoder = getincrementaldecoder("utf-8")


class Home(msgspec.Struct, frozen=True):
    """What a child is made for. It never serves another playbook, another interpreter or other limits."""

    playbook: str
    python: str
    memory_bytes_max: int
    open_files_max: int
    answer_bytes_max: int


class Child:
    """One interpreter. It answers one request at a time."""

    def __init__(self, home: Home, environment: Mapping[str, str]) -> None:
        self.home = home
        self.runs = 0
        self.is_stopped = False
        self._is_mute = False
        self._console: Console | None = None
        self._decoders = {stream: _decoder("replace") for stream in ("stdout", "stderr")}
        self._channel = Channel(self._forsake, home.answer_bytes_max + ANSWER_SLACK_BYTES)
        try:
            self._process = Process(_command(home, environment, self._channel.theirs), self._print)
        except (OSError, ValueError):
            self._channel.close()
            raise
        finally:
            self._channel.hand_over()
        self._process.ended.add_done_callback(lambda _ended: self._channel.close())

    @property
    def is_alive(self) -> bool:
        return self._channel.is_open and not self.is_stopped

    async def ask(self, request: bytes, console: Console) -> bytes | None:
        """The answer to a request, or None where the child died of it. What it prints meanwhile goes to the console."""
        self.runs += 1
        self._console = console
        try:
            answer = await self._channel.ask(request)
            if answer is not None:
                self._process.drain()
            return answer
        finally:
            self._console = None

    async def ended(self) -> str:
        """Waits for the end of the child, and says in words how that came."""
        code = await self._process.code()
        return MUTE if self._is_mute or code == MUTE_CODE else death(code)

    def terminate(self) -> None:
        """Asks the child, and whatever the code started, to end; after a grace they are killed."""
        self.is_stopped = True
        self._process.terminate()

    def kill(self) -> None:
        self.is_stopped = True
        self._process.kill()

    async def stop(self) -> None:
        """Ends the child as `terminate` does, and waits until nothing is left of it."""
        self.is_stopped = True
        self._channel.shut()  # one that waits for the next request need not
        await self._process.stop()

    async def end(self) -> None:
        """Kills the child, and waits until nothing is left of it."""
        self.is_stopped = True
        await self._process.end()

    def _forsake(self) -> None:
        """The child has closed the channel: it is about to end, or else it is of no use."""
        asyncio.get_running_loop().call_later(MUTE_S, self._silence)

    def _silence(self) -> None:
        if not self._process.ended.done() and not self.is_stopped:
            self._is_mute = True
            self._process.kill()

    def _print(self, data: bytes, stream: str) -> None:
        text = self._decoders[stream].decode(data)
        if self._console is not None and text:
            self._console.write(text, stream=stream)


class Pool:
    """Children between runs: at most `idle_max`, and each serves at most `runs_max` times."""

    def __init__(self, environment: Mapping[str, str], *, idle_max: int, runs_max: int) -> None:
        self._environment = environment
        self._idle_max = idle_max
        self._runs_max = runs_max
        self._idle: list[Child] = []

    def take(self, home: Home) -> Child:
        """The child of that home which ran last, or a new one."""
        for position in range(len(self._idle) - 1, -1, -1):
            if self._idle[position].home == home:
                found = self._idle.pop(position)
                if found.is_alive:
                    return found
        return Child(home, self._environment)

    def give(self, child: Child) -> Child | None:
        """Takes a child back. The answer is one that is to be ended: this one, or the one unused for longest."""
        if not child.is_alive or child.runs >= self._runs_max:
            return child
        self._idle.append(child)
        return self._idle.pop(0) if len(self._idle) > self._idle_max else None

    async def close(self) -> None:
        idle, self._idle = self._idle, []
        for child in idle:
            child.kill()
        for child in idle:
            await child.end()


def _command(home: Home, environment: Mapping[str, str], channel: tuple[int, int]) -> Command:
    numbers = (*channel, home.memory_bytes_max, home.open_files_max, home.answer_bytes_max)
    argv = [home.python, "-X", "utf8", PROGRAM, *map(str, numbers)]
    return Command(argv, environment, descriptors=channel)
