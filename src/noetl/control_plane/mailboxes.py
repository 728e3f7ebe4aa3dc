"""One queue an execution, and which of them have something to do."""

import asyncio
from collections import deque
from itertools import islice

from noetl.control_plane.letters import Letter, Look
from noetl.control_plane.limits import Limits
from noetl.engine.program import Program
from noetl.engine.state import State
from noetl.ports import Busy, Unavailable


class Box:
    """The queue of one execution, and its state while it is warm. A busy one is with a commit.

    `troubles` is how often in a row a store did not answer.
    """

    __slots__ = ("execution_id", "is_busy", "letters", "loaded", "snapshot_seq", "started_at", "troubles")

    def __init__(self, execution_id: str) -> None:
        self.execution_id = execution_id
        self.letters: deque[Letter | Look] = deque()
        self.loaded: tuple[State, Program | None] | None = None
        self.snapshot_seq = 0
        self.started_at: float | None = None
        self.is_busy = False
        self.troubles = 0

    def take(self, limit: int) -> tuple[list[Letter], list[Look]]:
        """The next letters, and the looks that stand among them."""
        letters: list[Letter] = []
        looks: list[Look] = []
        while self.letters and len(letters) < limit:
            found = self.letters.popleft()
            if isinstance(found, Letter):
                letters.append(found)
            else:
                looks.append(found)
        return letters, looks


class Mailboxes:
    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._boxes: dict[str, Box] = {}
        self._ready: dict[str, Box] = {}
        self._waiting = 0
        self._wake = asyncio.Event()
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._is_closed = False

    def make_room(self, count: int) -> None:
        """Turns callers away while too much waits. Where nothing does, any number is taken: it could never be less."""
        if self._is_closed:
            raise Unavailable("the server is stopping")
        if self._waiting and self._waiting + count > self._limits.waiting_max:
            raise Busy(self._limits.retry_after_s)

    def post(self, execution_id: str, *letters: Letter | Look) -> None:
        """Puts letters into an execution's queue, in order. `Busy` where too much waits; then none of them is in."""
        self.make_room(len(letters))
        self.put(execution_id, *letters)

    def put(self, execution_id: str, *letters: Letter | Look) -> None:
        """The same, for whom room was made."""
        self._waiting += len(letters)
        self._quiet.clear()
        for letter in letters:
            letter.answer.add_done_callback(self._answered)
        box = self._boxes.pop(execution_id, None) or Box(execution_id)
        self._boxes[execution_id] = box
        box.letters.extend(letters)
        self._mark(box)
        self._forget_idle()

    async def next_group(self) -> list[Box]:
        """Warm executions share a commit; a cold one, which has to be read first, holds up nobody."""
        while not self._ready:
            self._wake.clear()
            await self._wake.wait()
        first = next(iter(self._ready.values()))
        group = [first]
        if first.loaded is not None:
            warm = (box for box in self._ready.values() if box.loaded is not None)
            group = [box for box, _ in zip(warm, range(self._limits.group_max), strict=False)]
        for box in group:
            del self._ready[box.execution_id]
            box.is_busy = True
        return group

    def done(self, box: Box) -> None:
        box.is_busy = False
        self._mark(box)

    async def drain(self) -> None:
        """Takes nothing more, and waits until all that waits is answered."""
        self._is_closed = True
        await self._quiet.wait()

    def _forget_idle(self) -> None:
        """Those used longest ago go first. One that has something to do stays: an execution has one queue."""
        excess = max(0, len(self._boxes) - self._limits.warm_max)
        idle = (box for box in self._boxes.values() if not box.is_busy and not box.letters)
        for box in list(islice(idle, excess)):
            del self._boxes[box.execution_id]

    def _mark(self, box: Box) -> None:
        if box.letters and not box.is_busy:
            self._ready[box.execution_id] = box
            self._wake.set()

    def _answered(self, _: object) -> None:
        self._waiting -= 1
        if self._waiting == 0:
            self._quiet.set()
