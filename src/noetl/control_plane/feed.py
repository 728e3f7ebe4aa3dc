"""The log of an execution as it grows, by number, so that nothing is missed and nothing comes twice."""

from collections.abc import AsyncIterator

from noetl.control_plane.limits import Limits
from noetl.control_plane.signals import Signals
from noetl.engine.codec import is_end
from noetl.ports import EventLog


class Feed:
    def __init__(self, log: EventLog, signals: Signals, limits: Limits) -> None:
        self._log = log
        self._signals = signals
        self._limits = limits

    async def events(self, execution_id: str, after: int = 0) -> AsyncIterator[bytes]:
        """Events from the one after that number on, until the execution has ended and all are told."""
        with self._signals.following(execution_id) as follower:
            while True:
                found = follower.take(after) or await self._log.read(execution_id, after, self._limits.read_max)
                for data in found:
                    yield data
                after += len(found)
                if found and is_end(found[-1]):
                    return
                if not found and await self._has_ended(execution_id, after):
                    return
                if len(found) < self._limits.read_max:
                    await follower.wait(self._limits.poll_s)

    async def _has_ended(self, execution_id: str, after: int) -> bool:
        """For who began behind the last event, or reads of an execution that does not go on."""
        summary = await self._log.summary(execution_id)
        return summary is not None and summary.has_ended and summary.head <= after
