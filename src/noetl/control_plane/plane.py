"""One server: what workers and clients may ask of it, and the loops that keep executions going."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress

import msgspec

from noetl.control_plane.claims import claim_of
from noetl.control_plane.collector import Collector
from noetl.control_plane.feed import Feed
from noetl.control_plane.letters import Answer, Letter, Taken
from noetl.control_plane.limits import Limits
from noetl.control_plane.messages import Messages
from noetl.control_plane.progress import progress_of
from noetl.control_plane.reruns import Reruns
from noetl.control_plane.signals import Signals
from noetl.control_plane.sweeper import Sweeper
from noetl.control_plane.timers import Timers
from noetl.control_plane.transact import Executions
from noetl.engine.commands import CancelExecution, Rejection, RequestExecution
from noetl.engine.incidents import mend
from noetl.engine.layering import merge
from noetl.engine.rerun import Cut
from noetl.engine.worklist import EVERY
from noetl.ports import (
    Ask,
    Catalog,
    Chance,
    Claim,
    Clock,
    Credentials,
    Granted,
    LeaseReport,
    LogChunk,
    Poll,
    Registered,
    ResultStore,
    Store,
    Summary,
    System,
    Told,
    Unavailable,
)
from noetl.supply.lasting import lasting
from noetl.supply.programs import Programs, Ready
from noetl.supply.shelf import MissingData

ROWS_MAX = 20
"""Rows of work that one poll may be granted leases on."""


class Plane:
    """The ports are shared with other servers; nothing else is."""

    def __init__(
        self,
        store: Store,
        catalog: Catalog,
        results: ResultStore,
        credentials: Credentials,
        system: System,
        limits: Limits | None = None,
        ready: Ready | None = None,
    ) -> None:
        limits = limits or Limits()
        self._store = store
        self._catalog = catalog
        self._credentials = credentials
        self._clock: Clock = system
        self._chance: Chance = system
        self._limits = limits
        self._signals = Signals()
        self._programs = Programs(catalog.by_digest, ready)
        self._executions = Executions(store, self._programs, results, system, self._signals, limits)
        self._reruns = Reruns(store, self._programs, self._executions.shelf, system, limits.read_max)
        self._messages = Messages(store, catalog, self._absent, self._reruns, self._executions, self._signals, limits)
        self._timers = Timers(store, self._executions, self._signals, limits)
        self._sweeper = Sweeper(store, self._executions, system, self._signals, limits)
        self._collector = Collector(store, results, system, limits)
        self.feed = Feed(store, self._signals, limits)
        self._loops: list[asyncio.Task[None]] = []

    # ------------------------------------------------------------------------------ its life

    def start(self, *, tends_all: bool = True) -> None:
        """A server with a catalog and secrets of its own does not tend to all executions, but to those it is told."""
        if tends_all:
            self.tend(EVERY)
        sweeper, collector = self._sweeper, self._collector
        runs = (self._executions.run, self._messages.run, self._timers.run, sweeper.run, sweeper.inspect, collector.run)
        self._loops = [asyncio.create_task(lasting(run)) for run in runs]

    async def stop(self) -> None:
        """Takes nothing more, answers what waits, and ends. A store that does not answer is not waited for for ever."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._limits.drain_s):
                await self._executions.drain()
                await self._collector.do_its_share()
        for loop in self._loops:
            loop.cancel()
        await asyncio.gather(*self._loops, return_exceptions=True)

    def tend(self, root: str) -> None:
        """From now on this server starts the children of an execution and of those below it."""
        self._messages.tend(root)

    # ------------------------------------------------------------------------------ for clients

    async def request(
        self, playbook: Registered, workload: Mapping[str, object], execution_id: str | None = None
    ) -> str | Rejection:
        """Starts an execution. Asked again with the same id, it is the same execution."""
        name = execution_id or self._chance.new_id()
        program = await self._programs.get(playbook.digest)
        if program is None:
            return Rejection("unknown", f"the playbook {playbook.path!r} is not registered")
        missing = await self._absent(playbook.digest, workload)
        command = RequestExecution(playbook.path, playbook.digest, workload, playbook.version, missing=missing)
        answer = await self._send(name, Letter(command))
        return name if isinstance(answer, Taken) or answer.kind == "stale" else answer

    async def rerun(
        self,
        origin: Summary,
        cut: Cut,
        overlay: Mapping[str, object],
        execution_id: str | None = None,
        text: Registered | None = None,
    ) -> str | Rejection:
        """A new execution that takes over what another one had reached, with some values of its workload changed.

        What is left runs what the origin ran, or the `text` that is given.
        """
        program = await self._programs.get(origin.digest)
        other = await self._programs.get(text.digest) if text is not None else None
        if program is None or (text is not None and other is None):
            what = "text of the playbook" if program is not None else "playbook"
            return Rejection("unknown", f"the {what} of {origin.execution_id} is not in the catalog")
        asked = await self._reruns.request(origin.execution_id, cut, program, other)
        if isinstance(asked, Rejection):
            return asked
        try:
            given = await self._executions.shelf.hydrated(asked.workload)
        except MissingData as lost:
            return Rejection(
                "unexpected", f"the workload of {origin.execution_id} cannot be read: {lost.error.message}"
            )
        assert isinstance(given, dict)
        workload = merge(given, overlay)
        missing = await self._absent(asked.digest, workload)
        name = execution_id or self._chance.new_id()
        version = text.version if text is not None else asked.version
        request = msgspec.structs.replace(asked, workload=workload, missing=missing, version=version)
        answer = await self._send(name, Letter(request))
        return name if isinstance(answer, Taken) or answer.kind == "stale" else answer

    async def _absent(self, digest: str, workload: Mapping[str, object]) -> Sequence[str]:
        """The keychain entries of a playbook that cannot be found."""
        program = await self._programs.get(digest)
        if program is None or not program.playbook.keychain:
            return ()
        return await self._credentials.missing(program.playbook.keychain, merge(program.playbook.workload, workload))

    async def cancel(self, execution_id: str, reason: str | None = None) -> Rejection | None:
        answer = await self._send(execution_id, Letter(CancelExecution(reason)))
        return answer if isinstance(answer, Rejection) else None

    async def resume(self, execution_id: str) -> None:
        """People mended what was wrong: incidents are closed, and what is missing is offered again."""
        await self._store.close(execution_id)
        self._signals.work_offered()
        head, rows = await self._store.rows(execution_id)
        now = self._clock.now()
        missing = await self._executions.look(
            execution_id, lambda program, state: mend(program, state, rows, now) if state.seq == head else [], head
        )
        if isinstance(missing, list) and missing:
            await self._send(execution_id, Letter(None, effects=missing))

    async def _send(self, execution_id: str, letter: Letter) -> Answer:
        self._executions.post(execution_id, letter)
        return await letter.answer

    # ------------------------------------------------------------------------------ for workers

    async def poll(self, ask: Ask, wait_s: float) -> Poll:
        began_at = self._clock.monotonic()
        with self._signals.polling(ask.worker) as bell:
            while True:
                self._executions.make_room(0)
                waited_s = self._clock.monotonic() - began_at
                if ask.slots > 0:
                    self._signals.ask_for_work(bell)
                claims = await self._claim(ask) if ask.slots > 0 else []
                revoked = self._signals.revoked(ask.worker)
                left_s = began_at + wait_s - self._clock.monotonic()
                if claims or revoked or left_s <= 0:
                    return Poll(claims, revoked, waited_s)
                await bell.wait(min(left_s, self._limits.poll_s))

    async def report(self, reports: Sequence[LeaseReport], ask: Ask) -> Told:
        letters = [[_letter(each, position) for position in range(len(each.reports))] for each in reports]
        if ask.slots > 0 and letters and letters[-1]:
            letters[-1][-1].ask = ask
        self._executions.make_room(sum(map(len, letters)))
        for each, own in zip(reports, letters, strict=True):
            self._executions.put(each.lease.execution_id, *own)
        answers = [[await letter.answer for letter in own] for own in letters]
        refused = {
            number: {position: answer for position, answer in enumerate(own) if isinstance(answer, Rejection)}
            for number, own in enumerate(answers)
        }
        claims = [claim for own in answers for answer in own if isinstance(answer, Taken) for claim in answer.claims]
        return Told({number: own for number, own in refused.items() if own}, claims, self._signals.revoked(ask.worker))

    async def heartbeat(self, leases: Sequence[Granted], lease_s: float) -> frozenset[int]:
        return await self._store.renew(leases, lease_s)

    async def release(self, leases: Sequence[Granted]) -> None:
        await self._store.release(leases)
        self._signals.work_offered()

    async def playbook(self, digest: str) -> Registered | None:
        return await self._catalog.by_digest(digest)

    async def log(self, chunks: Sequence[LogChunk]) -> None:
        await self._store.write_logs(chunks)

    async def _claim(self, ask: Ask) -> list[Claim]:
        """What cannot be filled goes out again; where that fails too, its lease runs out."""
        claims: list[Claim] = []
        lost: list[Granted] = []
        for granted in await self._store.claim(ask, ROWS_MAX):
            claim = await self._filled(granted)
            if claim is not None:
                claims.append(claim)
            else:
                lost.append(granted)
        if claims:
            self._signals.work_offered()
        if lost:
            with suppress(Unavailable):
                await self._store.release(lost)
        return claims

    async def _filled(self, granted: Granted) -> Claim | None:
        shelf = self._executions.shelf
        try:
            found = await self._executions.look(
                granted.execution_id, lambda program, state: claim_of(program, state, granted, shelf), granted.head
            )
        except Unavailable:
            return None
        assert found is None or isinstance(found, Claim)
        return found


def _letter(report: LeaseReport, position: int) -> Letter:
    told = report.reports[position]
    return Letter(told, progress=progress_of(report.lease, told))
