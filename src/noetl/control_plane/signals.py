"""Hints between the parts of one server. They carry no truth: who misses one looks by itself in time."""

import asyncio
from collections import deque

from noetl.ports import Revoked


class Signals:
    """`messages` and `timers` say that there are new ones."""

    def __init__(self) -> None:
        self.messages = asyncio.Event()
        self.timers = asyncio.Event()
        self._claimants: deque[asyncio.Future[None]] = deque()
        self._polls: dict[str, set[asyncio.Future[None]]] = {}
        self._revoked: dict[str, set[int]] = {}
        self._followers: dict[str, set[asyncio.Future[None]]] = {}

    # ------------------------------------------------------------------------------ work

    def work_offered(self) -> None:
        """Wakes one who waits for work; finding some, that one wakes the next."""
        while self._claimants:
            claimant = self._claimants.popleft()
            if not claimant.done():
                claimant.set_result(None)
                return

    def revoke(self, revoked: Revoked) -> None:
        """Tells a worker that polls here; one that polls elsewhere learns it from its next heartbeat."""
        polls = self._polls.get(revoked.worker)
        if polls is None:
            return
        self._revoked.setdefault(revoked.worker, set()).add(revoked.epoch)
        for poll in polls:
            if not poll.done():
                poll.set_result(None)

    def revoked(self, worker: str) -> frozenset[int]:
        return frozenset(self._revoked.pop(worker, ()))

    async def wait_for_work(self, worker: str, timeout_s: float) -> None:
        """Until there may be work, or a lease of the worker is over, or for so long."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._claimants.append(future)
        polls = self._polls.setdefault(worker, set())
        polls.add(future)
        try:
            await asyncio.wait([future], timeout=timeout_s)
        finally:
            polls.discard(future)
            if not polls:
                self._polls.pop(worker, None)
            if not future.done():
                future.cancel()

    # ------------------------------------------------------------------------------ logs

    def appended(self, execution_id: str) -> None:
        for follower in self._followers.pop(execution_id, ()):
            if not follower.done():
                follower.set_result(None)

    async def wait_for_events(self, execution_id: str, timeout_s: float) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._followers.setdefault(execution_id, set()).add(future)
        try:
            await asyncio.wait([future], timeout=timeout_s)
        finally:
            followers = self._followers.get(execution_id)
            if followers is not None:
                followers.discard(future)
                if not followers:
                    del self._followers[execution_id]
