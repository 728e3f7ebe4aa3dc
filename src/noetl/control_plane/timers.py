"""Durable timers: a wait that is over, a step whose time is used up. The store's clock says when."""

from noetl.control_plane.answering import Answering
from noetl.control_plane.letters import Letter
from noetl.control_plane.limits import Limits
from noetl.control_plane.signals import Signals
from noetl.control_plane.transact import Executions
from noetl.ports import Store, Unavailable
from noetl.supply.waiting import wait_for


class Timers:
    def __init__(self, store: Store, executions: Executions, signals: Signals, limits: Limits) -> None:
        self._store = store
        self._answering = Answering(executions)
        self._signals = signals
        self._limits = limits
        self._known = 0

    async def run(self) -> None:
        while True:
            self._signals.timers.clear()
            try:
                wait_s = await self._fire()
            except Unavailable:
                wait_s = self._limits.backoff_s
            await wait_for(self._signals.timers, wait_s)

    async def _fire(self) -> float:
        """Fires what is due; the answer is how long nothing else will be.

        Those of a parked execution stay due for long, so that room is left for others beside them.
        """
        due, next_s = await self._store.due(self._limits.read_max + self._known)
        self._known = len(due)
        for timer in due:
            if not self._answering.is_under_way(timer.id):
                self._answering.post(timer.execution_id, timer.id, Letter(timer.timer.command, done=timer.id))
        return min(self._limits.sweep_s, next_s) if next_s is not None else self._limits.sweep_s
