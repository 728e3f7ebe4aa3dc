"""Frees what stored objects take up that nobody needs: events about them never came, or their time is over."""

import asyncio

from noetl.control_plane.limits import Limits
from noetl.ports import Clock, Collected, ResultStore, Store, Unavailable


class Collector:
    """Several servers share the work: each part of a round is done by one of them."""

    def __init__(self, store: Store, results: ResultStore, clock: Clock, limits: Limits) -> None:
        self._store = store
        self._results = results
        self._clock = clock
        self._limits = limits

    async def run(self) -> None:
        """Not at once: who runs something small should not wait for it."""
        await asyncio.sleep(self._limits.collect_after_s)
        while True:
            try:
                while await self._collect_next() is not None:
                    await asyncio.sleep(0)
            except Unavailable:
                await asyncio.sleep(self._limits.backoff_s)
            await asyncio.sleep(self._limits.collect_look_s)

    async def _collect_next(self) -> Collected | None:
        digits = self._limits.collect_digits
        part = await self._store.next_part(16**digits, self._limits.collect_every_s)
        return await self._collect(f"{part:0{digits}x}" if digits else "") if part is not None else None

    async def _collect(self, prefix: str) -> Collected:
        """Time is taken first: what is put before it, and not held after it, was not to be held in time."""
        put_before = self._clock.now() - self._limits.collect_grace_s
        held = await self._store.held(prefix)
        return await self._results.collect(prefix, held, put_before)
