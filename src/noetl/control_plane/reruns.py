"""What starts a rerun: two passes over the log of the execution that it goes on from, of which no part is kept.

The first learns what is to run again, the second what is taken over. So the memory that it takes follows the steps and
what the seed holds, not the length of the log.
A playbook that is called again in a rerun goes on in the same way, if it had not succeeded and is asked for the same.
"""

from collections.abc import Mapping

import msgspec

from noetl.control_plane.loading import Loader, Unreadable
from noetl.engine.commands import Rejection, RequestExecution
from noetl.engine.effects import StartChild, as_request
from noetl.engine.events import ExecutionRequested
from noetl.engine.program import Program
from noetl.engine.rerun import Cut, Plan, Takeover, plan
from noetl.engine.survey import UNREAD, Survey
from noetl.ports import Clock, EventLog, Summary, Unavailable
from noetl.supply.programs import Programs
from noetl.supply.shelf import Missing, Shelf

RUNS_MAX = 100
"""Runs of one task that are looked through for its last child."""


class Reruns:
    def __init__(self, log: EventLog, programs: Programs, shelf: Shelf, clock: Clock, read_max: int) -> None:
        self._log = log
        self._programs = programs
        self._shelf = shelf
        self._clock = clock
        self._loader = Loader(log, programs, shelf, clock, read_max)

    async def request(
        self, execution_id: str, cut: Cut, program: Program, text: Program | None = None
    ) -> RequestExecution | Rejection:
        """`program` is what the execution ran, `text` what the rest is to run; `Unavailable` where there is no log."""
        try:
            return await self._request(execution_id, cut, program, text)
        except Unreadable as trouble:
            raise Unavailable(str(trouble)) from trouble

    async def of_child(self, start: StartChild, digest: str) -> RequestExecution:
        """What starts a child: anew, unless the one before it had not succeeded and was asked for the very same."""
        anew = as_request(start, digest)
        before = await self._last(start.before) if start.before else None
        if before is None or before.digest != digest or before.status == "completed":
            return anew
        if not before.has_ended:
            raise Unavailable(f"{before.execution_id} is about to be cancelled, since its caller has ended")
        try:
            asked = await self._again(before, anew.workload)
        except (Unreadable, Missing):
            return anew
        if not isinstance(asked, RequestExecution):
            return anew
        return msgspec.structs.replace(asked, workload=anew.workload, version=start.version, parent=start.parent)

    async def _last(self, ids: str) -> Summary | None:
        """The child of the last run of a task."""
        last = None
        for number in range(1, RUNS_MAX + 1):
            found = await self._log.summary(f"{ids}{number}")
            if found is None:
                break
            last = found
        return last

    async def _again(self, before: Summary, workload: Mapping[str, object]) -> RequestExecution | Rejection | None:
        program = await self._programs.get(before.digest)
        if program is None or await self._workload(before.execution_id) != workload:
            return None
        return await self._request(before.execution_id, Cut(), program, None)

    async def _workload(self, execution_id: str) -> object:
        """As it was given."""
        async for fact in self._loader.facts(execution_id):
            if isinstance(fact, ExecutionRequested):
                return await self._shelf.hydrated(fact.workload)
        return None

    async def _request(
        self, execution_id: str, cut: Cut, program: Program, text: Program | None
    ) -> RequestExecution | Rejection:
        planned = await self._planned(execution_id, cut)
        if isinstance(planned, Rejection):
            return planned
        return await self._taken_over(program, planned, text)

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
