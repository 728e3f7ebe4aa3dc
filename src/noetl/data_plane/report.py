"""What a worker has to tell: one report at a time, in which everything that happened meanwhile travels together."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from noetl.data_plane.holding import Holding
from noetl.data_plane.limits import Limits
from noetl.engine.commands import Rejection, Report
from noetl.ports import Ask, Busy, Claim, Clock, ControlPlane, LeaseReport, Told, Unavailable


class Desk(Protocol):
    """What the reporter needs of its worker."""

    @property
    def holdings(self) -> Sequence[Holding]: ...
    @property
    def free_slots(self) -> int: ...
    def asking(self, slots: int) -> AbstractContextManager[Ask]: ...
    async def accept(self, claims: Sequence[Claim], granted_at: float) -> None: ...
    async def advance(self, holding: Holding) -> None: ...
    def lose(self, epochs: frozenset[int]) -> None: ...
    async def give_back(self, holding: Holding) -> None: ...


Batch = list[tuple[Holding, list[tuple[int, Report]]]]


class Reporter:
    def __init__(self, desk: Desk, control: ControlPlane, clock: Clock, limits: Limits) -> None:
        self._desk = desk
        self._control = control
        self._clock = clock
        self._limits = limits
        self._awake = asyncio.Event()

    def wake(self) -> None:
        self._awake.set()

    async def run(self) -> None:
        while True:
            await self._awake.wait()
            self._awake.clear()
            while batch := self._batch():
                await self._send(batch)

    def _batch(self) -> Batch:
        room = self._limits.report_max
        found: Batch = []
        for holding in self._desk.holdings:
            if room > 0 and holding.pending:
                room -= len(holding.pending)
                found.append((holding, holding.take(self._limits.report_max)))
        return found

    async def _send(self, batch: Batch) -> None:
        """Until it is answered. Whoever asks twice does not know what became of the first time."""
        tries = 0
        while batch := [each for each in batch if not each[0].is_lost]:
            asked_at = self._clock.monotonic()
            reports = [LeaseReport(holding.granted, [report for _, report in own]) for holding, own in batch]
            with self._desk.asking(self._desk.free_slots) as ask:
                try:
                    told = await self._control.report(reports, ask)
                except Unavailable as trouble:
                    tries += 1
                    backoff_s = self._backoff_s(trouble, tries)
                else:
                    await self._told(batch, told, is_first=tries == 0)
                    await self._desk.accept(told.claims, asked_at)
                    return
            await asyncio.sleep(backoff_s)

    def _backoff_s(self, trouble: Unavailable, tries: int) -> float:
        if isinstance(trouble, Busy):
            return trouble.retry_after_s
        return self._limits.backoff_after(tries)

    async def _told(self, batch: Batch, told: Told, *, is_first: bool) -> None:
        self._desk.lose(told.revoked)
        for number, (holding, own) in enumerate(batch):
            if holding.is_lost:
                continue
            refused = told.refused.get(number, {})
            if refused and not is_first:
                await self._desk.give_back(holding)
                continue
            self._settle(holding, own, refused)
            await self._desk.advance(holding)

    def _settle(self, holding: Holding, own: list[tuple[int, Report]], refused: Mapping[int, Rejection]) -> None:
        for position, (index, report) in enumerate(own):
            pipe = holding.pipes.get(index)
            if position in refused:
                holding.stop_at(index)
            elif pipe is not None:
                pipe.told(report.facts)
