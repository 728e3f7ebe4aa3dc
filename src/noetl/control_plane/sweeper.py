"""What nobody tells a server: leases that ran out, and work that kills its workers."""

import asyncio

from noetl.control_plane.letters import Letter
from noetl.control_plane.limits import Limits
from noetl.control_plane.signals import Signals
from noetl.control_plane.transact import Executions
from noetl.engine.commands import FailPoison
from noetl.engine.leases import DELIVERIES_MAX
from noetl.engine.state import State
from noetl.ports import Expired, Store, Unavailable


class Sweeper:
    def __init__(self, store: Store, executions: Executions, signals: Signals, limits: Limits) -> None:
        self._store = store
        self._executions = executions
        self._signals = signals
        self._limits = limits

    async def run(self) -> None:
        while True:
            try:
                await self._sweep()
            except Unavailable:
                await asyncio.sleep(self._limits.backoff_s)
            await asyncio.sleep(self._limits.sweep_s)

    async def _sweep(self) -> None:
        for expired in await self._store.expire(self._limits.read_max):
            self._signals.work_offered()
            for index in expired.poison:
                await self._fail(expired, index)

    async def _fail(self, expired: Expired, index: int) -> None:
        run, path = expired.row
        is_loop = await self._executions.look(expired.execution_id, lambda _, state: _is_loop(state, run))
        letter = Letter(FailPoison(run, (*path, index) if is_loop else (), DELIVERIES_MAX))
        self._executions.post(expired.execution_id, letter)
        await letter.answer


def _is_loop(state: State, step_run_id: str) -> bool:
    run = state.runs.get(step_run_id)
    return run is not None and run.loop is not None
