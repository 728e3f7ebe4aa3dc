"""What waits for an execution: commands, with what is carried out together with them, and looks at its state."""

import asyncio
from collections.abc import Callable, Sequence

import msgspec

from noetl.engine.commands import Command, Rejection
from noetl.engine.effects import Effect
from noetl.engine.program import Program
from noetl.engine.state import State
from noetl.engine.worklist import Progress
from noetl.ports import Ask, Claim


class Taken(msgspec.Struct, frozen=True):
    """A command changed something. `claims` is what an asking worker may do next."""

    claims: Sequence[Claim] = ()


Answer = Taken | Rejection


class Letter:
    """A command, what goes into its transaction, and who waits for the answer.

    `done` is the timer or message that it answers, whatever the answer is. `tries` counts how often it was carried.
    """

    __slots__ = ("answer", "ask", "command", "done", "effects", "progress", "tries")

    def __init__(
        self,
        command: Command | None,
        *,
        progress: Progress | None = None,
        done: int | None = None,
        ask: Ask | None = None,
        effects: Sequence[Effect] = (),
    ) -> None:
        self.command = command
        self.progress = progress
        self.done = done
        self.ask = ask
        self.effects = effects
        self.tries = 0
        self.answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.answer.add_done_callback(_heard)

    def resolve(self, answer: Answer) -> None:
        if not self.answer.done():
            self.answer.set_result(answer)

    def fail(self, error: Exception) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)


class Look:
    """Something read from the state of an execution once it is at least as long as `head`.

    The state is whole and committed while it is looked at, and nobody changes it meanwhile.
    """

    __slots__ = ("answer", "head", "see", "tries")

    def __init__(self, see: Callable[[Program, State], object], head: int) -> None:
        self.see = see
        self.head = head
        self.tries = 0
        self.answer: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        self.answer.add_done_callback(_heard)

    def resolve(self, found: object) -> None:
        if not self.answer.done():
            self.answer.set_result(found)

    def fail(self, error: Exception) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)


def _heard(answer: "asyncio.Future[Answer] | asyncio.Future[object]") -> None:
    """Whoever asked may be gone; then nobody needs to hear of trouble."""
    if not answer.cancelled():
        answer.exception()
