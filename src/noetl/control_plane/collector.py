"""Frees what stored objects take up that nobody needs: events about them never came, or their time is over."""

import asyncio
from contextlib import suppress

from noetl.control_plane.limits import Limits
from noetl.ports import Clock, Collected, ResultStore, Store, Unavailable


class Collector:
    """Several servers share the work: each part of a round is done by one of them."""

    def __init__(self, store: Store, results: ResultStore, clock: Clock, limits: Limits) -> None:
        self._store = store
        self._results = results
        self._clock = clock
        self._limits = limits
        self._has_looked = False

    async def run(self) -> None:
        """Not at once: who runs something small should not wait for it."""
        await asyncio.sleep(self._limits.collect_after_s)
        self._has_looked = True
        while True:
            try:
                while await self._collect_next():
                    continue
            except Unavailable:
                await asyncio.sleep(self._limits.backoff_s)
            await asyncio.sleep(self._limits.collect_look_s)

    async def do_its_share(self) -> None:
        """At its end a server that was too short for a look does a little: where all are short, nobody else would."""
        if self._has_looked:
            return
        until = self._clock.monotonic() + self._limits.collect_last_s
        with suppress(Unavailable):
            while await self._collect_next() and self._clock.monotonic() < until:
                continue

    async def _collect_next(self) -> bool:
        """Whether there was a part to look through."""
        digits = self._limits.collect_digits
        part = await self._store.next_part(16**digits, self._limits.collect_every_s)
        if part is not None:
            await self._collect(f"{part:0{digits}x}" if digits else "")
        return part is not None

    async def _collect(self, prefix: str) -> Collected:
        """What was put so long before that moment, and was not held then, is not about to be."""
        held = await self._store.held(prefix)
        return await self._results.collect(prefix, held.names, held.at - self._limits.collect_grace_s)
