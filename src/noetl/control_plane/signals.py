"""Hints between the parts of one server. They carry no truth: who misses one looks by itself in time."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from noetl.ports import Revoked


class Bell:
    """Rung for one who waits. Rung while that one does something else, it is heard at the next wait."""

    __slots__ = ("_future", "is_rung")

    def __init__(self) -> None:
        self.is_rung = False
        self._future: asyncio.Future[None] | None = None

    def ring(self) -> None:
        self.is_rung = True
        if self._future is not None and not self._future.done():
            self._future.set_result(None)

    async def wait(self, timeout_s: float) -> None:
        """Until it is rung, or for so long."""
        if not self.is_rung:
            self._future = asyncio.get_running_loop().create_future()
            await asyncio.wait([self._future], timeout=timeout_s)
        self.is_rung = False


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
        self._followers: dict[str, Bells] = {}

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
    def following(self, execution_id: str) -> Iterator[Bell]:
        """Someone reads a log. The bell is rung when there is more of it."""
        bell = Bell()
        with _kept(self._followers, execution_id, bell):
            yield bell

    def appended(self, execution_id: str) -> None:
        for bell in self._followers.get(execution_id, ()):
            bell.ring()


@contextmanager
def _kept(bells: dict[str, Bells], name: str, bell: Bell) -> Iterator[None]:
    bells.setdefault(name, {})[bell] = None
    try:
        yield
    finally:
        del bells[name][bell]
        if not bells[name]:
            del bells[name]
