"""Jobs for one connection, carried in groups on a thread of its own: what waits goes together.

A job that fails, fails alone: its group is carried once more, one by one. Trouble with the file is that of all.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Generic, TypeVar, cast

import msgspec

from noetl.ports import Busy, Unavailable
from noetl.storage.errors import StorageError

S = TypeVar("S")
T = TypeVar("T")

GROUP_MAX = 200
"""Jobs that are carried together."""

WAITING_MAX = 10_000
RETRY_AFTER_S = 1.0


class _Waiting(msgspec.Struct, Generic[S], frozen=True):
    job: Callable[[S], object]
    answer: asyncio.Future[object]


class Lane(Generic[S]):
    def __init__(self, carry: Callable[[Sequence[Callable[[S], object]]], Sequence[object]], name: str) -> None:
        self._carry = carry
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._waiting: deque[_Waiting[S]] = deque()
        self._alone: deque[_Waiting[S]] = deque()
        self._is_busy = False
        self._idle: asyncio.Event | None = None

    async def ask(self, job: Callable[[S], T]) -> T:
        """Whoever stops waiting does not stop the job."""
        if self._idle is not None:
            raise Unavailable("the database is closed")
        if len(self._waiting) >= WAITING_MAX:
            raise Busy(RETRY_AFTER_S)
        answer: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(job, answer))
        self._send()
        return cast(T, await answer)

    async def close(self, last: Callable[[], None]) -> None:
        """Carries what waits, does this last thing, and ends the thread."""
        self._idle = asyncio.Event()
        if self._is_busy:
            await self._idle.wait()
        await asyncio.get_running_loop().run_in_executor(self._thread, last)
        self._thread.shutdown()

    def _send(self) -> None:
        if self._is_busy:
            return
        group = self._next_group()
        self._is_busy = bool(group)
        if not group:
            if self._idle is not None:
                self._idle.set()
            return
        jobs = [each.job for each in group]
        under_way = asyncio.get_running_loop().run_in_executor(self._thread, self._carry, jobs)
        under_way.add_done_callback(partial(self._carried, group))

    def _next_group(self) -> list[_Waiting[S]]:
        """What nobody waits for any more is left out."""
        if self._alone:
            return [self._alone.popleft()]
        group: list[_Waiting[S]] = []
        while self._waiting and len(group) < GROUP_MAX:
            first = self._waiting.popleft()
            if not first.answer.done():
                group.append(first)
        return group

    def _carried(self, group: Sequence[_Waiting[S]], done: "asyncio.Future[Sequence[object]]") -> None:
        self._is_busy = False
        error = done.exception()
        if error is None:
            for each, answer in zip(group, done.result(), strict=True):
                if not each.answer.done():
                    each.answer.set_result(answer)
        elif len(group) == 1 or isinstance(error, Unavailable | StorageError):
            for each in group:
                if not each.answer.done():
                    each.answer.set_exception(error)
        else:
            self._alone.extend(group)
        self._send()
