"""What starts a rerun: two passes over the log of the execution that it goes on from, of which no part is kept.

The first learns what is to run again, the second what is taken over. So the memory that it takes follows the steps and
what the seed holds, not the length of the log.
"""

from noetl.control_plane.loading import Loader, Unreadable
from noetl.engine.commands import Rejection, RequestExecution
from noetl.engine.program import Program
from noetl.engine.rerun import Cut, Plan, Takeover, plan
from noetl.engine.survey import UNREAD, Survey
from noetl.ports import Clock, Unavailable


class Reruns:
    def __init__(self, loader: Loader, clock: Clock) -> None:
        self._loader = loader
        self._clock = clock

    async def request(
        self, execution_id: str, cut: Cut, program: Program, text: Program | None
    ) -> RequestExecution | Rejection:
        """`program` is what the execution ran, `text` what the rest is to run; `Unavailable` where there is no log."""
        try:
            planned = await self._planned(execution_id, cut)
            if isinstance(planned, Rejection):
                return planned
            return await self._taken_over(program, planned, text)
        except Unreadable as trouble:
            raise Unavailable(str(trouble)) from trouble

    async def _planned(self, execution_id: str, cut: Cut) -> Plan | Rejection:
        survey = Survey()
        async for seq, fact in self._loader.numbered(execution_id, UNREAD):
            survey.note(seq, fact)
        return plan(execution_id, survey, cut)

    async def _taken_over(self, program: Program, planned: Plan, text: Program | None) -> RequestExecution | Rejection:
        takeover = Takeover(program, planned, text)
        async for fact in self._loader.facts(planned.execution_id):
            takeover.note(fact)
        return takeover.request(self._clock.now())
