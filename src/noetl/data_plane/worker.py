"""One worker: it polls for work, runs what it holds, reports, keeps its leases alive and stops itself in time."""

import asyncio
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial

import msgspec

from noetl.data_plane.equipment import Equipment
from noetl.data_plane.holding import Holding, LeaseOver
from noetl.data_plane.limits import Limits
from noetl.data_plane.losses import told
from noetl.data_plane.pace import Pace
from noetl.data_plane.report import Reporter
from noetl.data_plane.run_step import Runner
from noetl.data_plane.trace import trace_of
from noetl.engine.reference import External, Gone, Reference
from noetl.ports import Ask, Claim, Clock, ControlPlane, Granted, Unavailable
from noetl.supply.lasting import lasting
from noetl.supply.manifest import iterations_of
from noetl.supply.outcome import outcome
from noetl.supply.programs import Programs
from noetl.supply.shelf import LeftOver, Missing, MissingData, Shelf, Tell
from noetl.supply.waiting import wait_for

log = logging.getLogger(__name__)


class Worker:
    def __init__(
        self,
        name: str,
        control: ControlPlane,
        equipment: Equipment,
        limits: Limits | None = None,
        pools: Sequence[str] = (),
        within: str = "",
    ) -> None:
        self.name = name
        self._control = control
        self._clock: Clock = equipment.system
        self._limits = limits or Limits()
        self._pools = pools
        self._within = within
        self._programs = Programs(control.playbook, equipment.ready)
        self._shelf = Shelf(equipment.results, self._limits.shelf_bytes_max, iterations_of(equipment.log))
        self._holdings: dict[int, Holding] = {}
        self._changed = asyncio.Event()
        self._asked_slots = 0
        self._is_stopping = False
        self._reporter = Reporter(self, control, self._clock, self._limits)
        self._runner = Runner(equipment, self._limits, self._reporter.wake)
        self._loops: list[asyncio.Task[None]] = []
        self._pipelines: set[asyncio.Task[None]] = set()
        self._pace = Pace()

    # ------------------------------------------------------------------------------ its life

    def start(self) -> None:
        runs = (self._poll, self._listen, self._reporter.run, self._renew, self._fence, self._print)
        self._loops = [asyncio.create_task(lasting(run)) for run in runs]

    def hold(self) -> None:
        """Begins nothing more, not even the next task of what runs. What runs goes on, and is reported."""
        self._is_stopping = True
        self._runner.hold()

    async def stop(self, drain_s: float) -> None:
        """Begins nothing more, lets what runs end for so long, then gives back the rest."""
        self._is_stopping = True
        self._changed.set()
        ends_at = self._clock.monotonic() + drain_s
        while any(holding.pipes or holding.pending for holding in self._holdings.values()):
            left_s = ends_at - self._clock.monotonic()
            if left_s <= 0:
                break
            self._changed.clear()
            await wait_for(self._changed, left_s)
        for loop in self._loops:
            loop.cancel()
        await asyncio.gather(*self._loops, return_exceptions=True)
        await self._give_back(list(self._holdings.values()))
        await asyncio.gather(*self._pipelines, return_exceptions=True)
        await self._ship()

    async def _give_back(self, holdings: Sequence[Holding]) -> None:
        """Others may have it once nothing of it runs here: tools that are stopped may clean up first."""
        if not holdings:
            return
        ending = [pipe.task for holding in holdings for pipe in holding.pipes.values() if pipe.task is not None]
        for holding in holdings:
            self._drop(holding)
            holding.lose()
        if ending:
            await asyncio.wait(ending, timeout=self._limits.margin_s)
        with suppress(Unavailable):
            await self._control.release([holding.granted for holding in holdings])

    # ------------------------------------------------------------------------------ claiming

    @property
    def holdings(self) -> Sequence[Holding]:
        return tuple(self._holdings.values())

    @property
    def free_slots(self) -> int:
        """What nothing takes up that is held or asked for."""
        if not self._can_begin:
            return 0
        held = sum(max(holding.slots, len(holding.pipes)) for holding in self.holdings if not holding.is_over)
        return max(0, self._limits.slots - held - self._asked_slots)

    @property
    def _can_begin(self) -> bool:
        untold = sum(len(holding.pending) for holding in self.holdings)
        return not self._is_stopping and untold <= self._limits.untold_max

    @contextmanager
    def asking(self, slots: int) -> Iterator[Ask]:
        """Asks for work. The slots are taken until the answer is in hand, so that nobody asks for them twice."""
        self._asked_slots += slots
        try:
            yield self._ask(slots)
        finally:
            self._asked_slots -= slots
            self._changed.set()

    def _ask(self, slots: int) -> Ask:
        limits = self._limits
        indexes_max = max(1, slots * self._pace.ahead(limits.ahead_s, limits.prefetch))
        return Ask(self.name, slots, limits.lease_s, indexes_max, self._pools, self._within)

    async def _poll(self) -> None:
        while True:
            self._changed.clear()
            slots = self.free_slots
            if slots < 1:
                await self._changed.wait()
                continue
            await self._poll_for(slots)

    async def _poll_for(self, slots: int) -> None:
        asked_at = self._clock.monotonic()
        with self.asking(slots) as ask:
            try:
                poll = await self._control.poll(ask, self._limits.poll_s)
            except Unavailable:
                await asyncio.sleep(self._limits.backoff_s)
                return
            self.lose(poll.revoked)
            await self.accept(poll.claims, asked_at + poll.waited_s)

    async def _listen(self) -> None:
        """Hears at once of leases that are over, even while there is no slot to ask for."""
        while True:
            try:
                poll = await self._control.poll(self._ask(0), self._limits.poll_s)
            except Unavailable:
                await asyncio.sleep(self._limits.backoff_s)
                continue
            self.lose(poll.revoked)

    async def accept(self, claims: Sequence[Claim], granted_at: float) -> None:
        """Takes claims into hand that were granted then, or later. What cannot be had now is given back.

        The lease on what is gone for good runs out, and what comes back too often is poison.
        """
        for claim in claims:
            if claim.epoch in self._holdings:
                continue
            match await outcome(self._in_hand(claim, granted_at)):
                case Holding() as holding:
                    self._holdings[claim.epoch] = holding
                    self._fill(holding)
                case Missing() as gone:
                    log.warning("lease %d on %s cannot be worked on: %s", claim.epoch, claim.step, gone)
                case Unavailable():
                    await self._refuse(claim.granted)
                case bug:
                    log.error("lease %d on %s broke\n%s", claim.epoch, claim.step, trace_of(bug))

    async def _refuse(self, granted: Granted) -> None:
        with suppress(Unavailable):
            await self._control.release([granted])
        await asyncio.sleep(self._limits.backoff_s)

    async def _in_hand(self, claim: Claim, granted_at: float) -> Holding:
        program = await self._programs.get(claim.digest)
        if program is None:
            raise Missing(f"the playbook with digest {claim.digest} is not in the catalog")
        tell = partial(told, claim)
        items = await self._items(claim, tell)
        loop = msgspec.structs.replace(claim.loop, items=()) if claim.loop is not None else None
        filled = await self._shelf.left_of(msgspec.structs.replace(claim, loop=loop), tell)
        assert isinstance(filled.value, Claim)
        assert isinstance(items.value, list)
        deadline = granted_at + self._limits.lease_s - self._limits.margin_s
        return Holding(filled.value, program, items.value, deadline, is_whole=items.is_whole and filled.is_whole)

    async def _items(self, claim: Claim, tell: Tell) -> LeftOver:
        """The elements of a loop. Where they cannot be had, whichever iteration needs its own hears so."""
        loop = claim.loop
        if loop is None:
            return LeftOver([])
        stored = loop.items
        if not isinstance(stored, External | Reference):
            return await self._shelf.left_of(list(stored), tell)
        try:
            whole = await self._shelf.tried(lambda: self._shelf.value(stored))
        except MissingData as lost:
            external = stored if isinstance(stored, External) else External(stored)
            gone = Gone(external, tell(external.reference, lost.loss))
            return LeftOver([gone] * (loop.stop - loop.first), is_whole=False)
        assert isinstance(whole, list)
        return LeftOver(whole[loop.first : loop.stop])

    # ------------------------------------------------------------------------------ running

    def _fill(self, holding: Holding) -> None:
        """Begins as many pipelines as the lease has slots."""
        while holding.can_begin and self._can_begin:
            index = holding.begin()
            task = asyncio.create_task(self._run(holding, index))
            holding.pipes[index].task = task
            self._pipelines.add(task)
            task.add_done_callback(partial(self._ended, holding, index))

    def _ended(self, holding: Holding, index: int, task: asyncio.Task[None]) -> None:
        """What still counts as running though it has ended, such as a task that cancelled itself, would never end."""
        self._pipelines.discard(task)
        if index in holding.pipes:
            log.error("lease %d on %s ended unasked", holding.claim.epoch, holding.step_run_id)
            self.lose(frozenset({holding.claim.epoch}))

    async def _run(self, holding: Holding, index: int) -> None:
        began_at = self._clock.monotonic()
        match await outcome(self._runner.run(holding, index)):
            case LeaseOver():
                self.lose(frozenset({holding.claim.epoch}))
            case Exception() as bug:  # the lease runs out, and what comes back too often is poison
                log.error("lease %d on %s broke\n%s", holding.claim.epoch, holding.step_run_id, trace_of(bug))
                self.lose(frozenset({holding.claim.epoch}))
            case is_parked:
                self._pace.took(self._clock.monotonic() - began_at)
                holding.leave(index, is_parked=is_parked)
                self._fill(holding)
                self._changed.set()

    async def advance(self, holding: Holding) -> None:
        """Something of a holding was told: it may be over, and others may go on that were held up by what was untold.

        Where something was refused, the rest is given back.
        """
        if holding.is_over and holding.is_refused:
            await self._give_back([holding])
        elif holding.is_over:
            self._drop(holding)
        for other in self.holdings:
            self._fill(other)
        self._changed.set()

    def lose(self, epochs: frozenset[int]) -> None:
        """Leases that are over: what runs under them is stopped."""
        for epoch in epochs & self._holdings.keys():
            holding = self._holdings[epoch]
            self._drop(holding)
            holding.lose()

    async def give_back(self, holding: Holding) -> None:
        await self._give_back([holding])

    def _drop(self, holding: Holding) -> None:
        self._holdings.pop(holding.claim.epoch, None)
        self._changed.set()

    async def _print(self) -> None:
        while True:
            await asyncio.sleep(self._limits.tell_after_s)
            await self._ship()

    async def _ship(self) -> None:
        """What tools printed. It is for people: where it cannot be kept, nothing waits for it."""
        chunks = self._runner.printed.take()
        if chunks:
            with suppress(Unavailable):
                await self._control.log(chunks)

    # ------------------------------------------------------------------------------ leases

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(self._limits.renew_s)
            with suppress(Unavailable):
                await self._renew_all()

    async def _renew_all(self) -> None:
        held = [holding.granted for holding in self.holdings]
        if held:
            sent_at = self._clock.monotonic()
            over = await self._control.heartbeat(held, self._limits.lease_s)
            self.lose(over)
            self._extend({granted.lease.epoch for granted in held} - over, sent_at)

    def _extend(self, epochs: set[int], sent_at: float) -> None:
        for epoch in epochs & self._holdings.keys():
            holding = self._holdings[epoch]
            holding.deadline = sent_at + self._limits.lease_s - self._limits.margin_s

    async def _fence(self) -> None:
        """Stops what runs under a lease that could not be renewed, before anyone else may have it.

        A worker that stood still asks first: where nobody else has the lease, it goes on.
        """
        while True:
            looked_at = self._clock.monotonic()
            await asyncio.sleep(self._limits.margin_s / 4)
            if self._clock.monotonic() - looked_at > self._limits.margin_s:
                with suppress(Unavailable, TimeoutError):
                    await asyncio.wait_for(self._renew_all(), self._limits.margin_s / 4)
            now = self._clock.monotonic()
            self.lose(frozenset(epoch for epoch, holding in self._holdings.items() if holding.deadline <= now))
