"""Hints between the parts of one server. They carry no truth: who misses one looks by itself in time."""

import asyncio
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from noetl.ports import Revoked


class Bell:
    """Rung for one who waits. Rung while that one does something else, it is heard at the next wait."""

    __slots__ = ("_future", "is_rung")

    def __init__(self) -> None:
        self.is_rung = False
        self._future: asyncio.Future[None] | None = None

    def ring(self) -> None:
        self.is_rung = True
        self.wake()

    def wake(self) -> None:
        """Ends a wait that is under way, and no later one."""
        if self._future is not None and not self._future.done():
            self._future.set_result(None)

    async def wait(self, timeout_s: float) -> None:
        """Until it is rung, or for so long."""
        if not self.is_rung:
            self._future = asyncio.get_running_loop().create_future()
            await asyncio.wait([self._future], timeout=timeout_s)
        self.is_rung = False


HEARD_BYTES_MAX = 1024 * 1024


class Follower(Bell):
    """Rung when a log grows, and told what was committed to it here. What is too much to remember is in the store."""

    __slots__ = ("_heard", "_size")

    def __init__(self) -> None:
        super().__init__()
        self._heard: deque[tuple[int, Sequence[bytes]]] = deque()
        self._size = 0

    def hear(self, after: int, events: Sequence[bytes]) -> None:
        size = sum(map(len, events))
        if self._size + size > HEARD_BYTES_MAX:
            self.ring()
            return
        self._heard.append((after, events))
        self._size += size
        self.wake()

    def take(self, after: int) -> Sequence[bytes]:
        """The events that follow that number, as far as they were heard."""
        while self._heard and self._heard[0][0] <= after:
            first, events = self._heard.popleft()
            self._size -= sum(map(len, events))
            if new := events[after - first :]:
                return new
        return ()

    async def wait(self, timeout_s: float) -> None:
        if not self._heard:
            await super().wait(timeout_s)


B = TypeVar("B", bound=Bell)
Bells = dict[Bell, None]
"""In the order in which they came."""


class Signals:
    """`messages` and `timers` say that there are new ones."""

    def __init__(self) -> None:
        self.messages = asyncio.Event()
        self.timers = asyncio.Event()
        self._claimants: Bells = {}
        self._polls: dict[str, Bells] = {}
        self._revoked: dict[str, set[int]] = {}
        self._followers: dict[str, dict[Follower, None]] = {}

    # ------------------------------------------------------------------------------ work

    @contextmanager
    def polling(self, worker: str) -> Iterator[Bell]:
        """A worker polls. Its bell is rung when a lease of its is over, and for work where it asks for that."""
        bell = Bell()
        try:
            with _kept(self._polls, worker, bell):
                yield bell
        finally:
            self._claimants.pop(bell, None)
            if bell.is_rung:  # someone else may want what this one goes without
                self.work_offered()
            if worker not in self._polls:
                self._revoked.pop(worker, None)

    def ask_for_work(self, bell: Bell) -> None:
        """To be called before looking for work, so that nothing offered meanwhile is missed."""
        self._claimants.setdefault(bell)

    def work_offered(self) -> None:
        """Wakes one who waits for work; finding some, that one wakes the next."""
        bell = next(iter(self._claimants), None)
        if bell is not None:
            del self._claimants[bell]
            bell.ring()

    def revoke(self, revoked: Revoked) -> None:
        """Tells a worker that polls here; one that polls elsewhere learns it from its next heartbeat."""
        bells = self._polls.get(revoked.worker)
        if bells is None:
            return
        self._revoked.setdefault(revoked.worker, set()).add(revoked.epoch)
        for bell in bells:
            bell.ring()

    def revoked(self, worker: str) -> frozenset[int]:
        return frozenset(self._revoked.pop(worker, ()))

    # ------------------------------------------------------------------------------ logs

    @contextmanager
    def following(self, execution_id: str) -> Iterator[Follower]:
        """Someone reads a log."""
        follower = Follower()
        with _kept(self._followers, execution_id, follower):
            yield follower

    def appended(self, execution_id: str, after: int, events: Sequence[bytes]) -> None:
        for follower in self._followers.get(execution_id, ()):
            follower.hear(after, events)


@contextmanager
def _kept(bells: dict[str, dict[B, None]], name: str, bell: B) -> Iterator[None]:
    bells.setdefault(name, {})[bell] = None
    try:
        yield
    finally:
        del bells[name][bell]
        if not bells[name]:
            del bells[name]
