"""What nobody tells a server: leases that ran out, work that kills its workers, executions that stand still."""

import asyncio
from contextlib import suppress

from noetl.control_plane.letters import Letter
from noetl.control_plane.limits import Limits
from noetl.control_plane.signals import Signals
from noetl.control_plane.transact import Executions
from noetl.engine.commands import FailPoison
from noetl.engine.incidents import stranded
from noetl.engine.leases import DELIVERIES_MAX
from noetl.engine.state import State
from noetl.ports import Clock, Expired, Store, Unavailable


class Sweeper:
    def __init__(self, store: Store, executions: Executions, clock: Clock, signals: Signals, limits: Limits) -> None:
        self._store = store
        self._clock = clock
        self._executions = executions
        self._signals = signals
        self._limits = limits
        self._looked_at = clock.now()
        self._ends_from = clock.monotonic()

    async def run(self) -> None:
        while True:
            try:
                await self._sweep()
            except Unavailable:
                await asyncio.sleep(self._limits.backoff_s)
            await asyncio.sleep(self._limits.sweep_s)

    async def inspect(self) -> None:
        """Now and then, one after the other: is there something alive that nothing will ever move?"""
        while True:
            await asyncio.sleep(self._limits.inspect_s)
            try:
                await self._inspect_all()
            except Unavailable:
                continue

    async def _inspect_all(self) -> None:
        last = ""
        while found := await self._store.live(last, self._limits.read_max):
            for summary in found:
                last = summary.execution_id
                with suppress(Unavailable):  # one that cannot be read is parked; the others are looked at all the same
                    await self._inspect(last)

    async def _inspect(self, execution_id: str) -> None:
        head, rows = await self._store.rows(execution_id)
        now = self._clock.now()
        found = await self._executions.look(
            execution_id, lambda program, state: stranded(program, state, rows, now) if state.seq == head else [], head
        )
        if isinstance(found, list) and found:
            await self._store.open(found)

    async def _sweep(self) -> None:
        if not self._may_end_leases():
            return
        for expired in await self._store.expire(self._limits.read_max):
            for lease in expired.over:
                self._signals.revoke(lease)
            self._signals.work_offered()
            for index in expired.poison:
                with suppress(Unavailable):  # it is told again
                    await self._fail(expired, index)

    def _may_end_leases(self) -> bool:
        """Not before their holders could renew them: this server may have stood still, or its clock have leapt.

        So it is when a laptop wakes up, with its worker and all that it runs.
        """
        now, since = self._clock.now(), self._looked_at
        self._looked_at = now
        if now - since > self._limits.sweep_s + self._limits.leap_s:
            self._ends_from = self._clock.monotonic() + self._limits.renew_s
        return self._clock.monotonic() >= self._ends_from

    async def _fail(self, expired: Expired, index: int) -> None:
        run, path = expired.row
        head = await self._store.head(expired.execution_id)
        is_loop = await self._executions.look(expired.execution_id, lambda _, state: _is_loop(state, run), head)
        letter = Letter(FailPoison(run, (*path, index) if is_loop else (), DELIVERIES_MAX))
        self._executions.post(expired.execution_id, letter)
        await letter.answer


def _is_loop(state: State, step_run_id: str) -> bool:
    run = state.runs.get(step_run_id)
    return run is not None and run.loop is not None
