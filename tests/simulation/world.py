"""Several servers and workers, their store and clients, under faults that a seed decides; and the verdict."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from random import Random
from typing import TypeVar, cast

from noetl.control_plane.plane import Plane
from noetl.data_plane.equipment import Equipment
from noetl.data_plane.worker import Worker
from noetl.playbook.kinds import KINDS
from noetl.ports import Unavailable
from tests.engine.logs import compact
from tests.simulation.actors import Condition
from tests.simulation.books import Book, Books
from tests.simulation.clocks import SeededChance, SimulatedClock
from tests.simulation.faults import Faults
from tests.simulation.ledger import Ledger, SimulatedTool
from tests.simulation.loop import Idle, SimulatedLoop, TooLong
from tests.simulation.network import Network
from tests.simulation.settings import COLLECT_S, FAULTS_S, Root, Setting
from tests.simulation.stage import Credentials, JudgedStore, KeptResults, Playbooks
from tests.simulation.verdict import unexpected
from tests.simulation.wire import catalog_at, control_plane_at, credentials_at, results_at, store_at
from tests.simulation.witness import Witness, watch

T = TypeVar("T")

TICK_S = 1.0
GRACE_S = 4_000.0
"""After the last fault everything ends within this, not counting the times that playbooks wait."""

STILL_S = 150.0
"""After the last fault not everything stands still so long, unless something waits for a time: five leases run out in
that. One alone may: there may be one worker, and others may come first."""

FACTS_MAX = 250
"""An execution that comes to more of them goes in circles, and is cancelled."""

STOPPED_S = 14.0
"""A tool whose execution has ended is stopped within this: its worker hears of it, or its lease runs out."""

SKIP_MIN_S = 20.0
TIMEOUT_S = 5.0
DRAIN_S = 4.0
LEAVING_S = 200.0


class World:
    """One run. `failures` is what no run may show."""

    def __init__(self, given: Setting) -> None:
        self.given = given
        self.loop = SimulatedLoop(given.seed)
        self.faults = Faults(self.loop, given.rates, until_s=FAULTS_S)
        self.network = Network(self.loop, self.faults)
        self.playbooks = Playbooks(given.play)
        self.servers = [f"server-{number}" for number in range(1, given.servers + 1)]
        self.workers = [f"worker-{number}" for number in range(1, given.workers + 1)]
        self._clocks = {name: self._clock(name) for name in ("store", *self.servers, *self.workers)}
        programs = self.playbooks.programs
        self.results = KeptResults(self._clocks["store"])
        self.books = Books(programs.__getitem__, self.results.read, self.loop.fail, self.loop.time)
        self.results.on_removal = lambda removed: self.books.lose(removed, self._clocks["store"].now())
        self.store = JudgedStore(self._clocks["store"], self.books, self.loop.fail)
        self.ledger = Ledger(given, list(programs.values()), self.books, self.loop, self._kill)
        self._alive: dict[str, Plane | Worker] = {}
        self._exits: dict[str, asyncio.Future[None]] = {}
        self._chance = Random(f"{given.seed}/world")
        self._cancelled: set[str] = set()
        self._waited_until = 0.0
        self._skipped_s = 0.0

    def _clock(self, name: str) -> SimulatedClock:
        chance = Random(f"{self.given.seed}/clock/{name}")
        return SimulatedClock(
            self.loop,
            name,
            drift=(chance.random() - 0.5) * 0.02,
            offset_s=round((chance.random() - 0.5) * 20, 3),
            began_s=round(chance.random() * 1e5, 3),
        )

    # -------------------------------------------------------------------------- what the faults strike

    def victims(self) -> Sequence[str]:
        return ["store", *self.servers, *self.workers]

    def restart(self, name: str) -> None:
        actor = self.loop.actor(name)
        if actor is not None and actor.is_alive:
            return
        if name == "store":
            self.store.crash()
            self.ledger.store_crashed()
            self._host_store()
        elif name in self.servers:
            self.loop.spawn(name, self._server(name))
        else:
            self.loop.spawn(name, self._worker(name))

    def lines(self) -> Sequence[tuple[str, str]]:
        talk = [(server, "store") for server in self.servers]
        return [*talk, *((worker, server) for worker in self.workers for server in self.servers)]

    def clocks(self) -> Sequence[SimulatedClock]:
        return [clock for name, clock in self._clocks.items() if name != "store" or self.given.store_jumps]

    def _correct_clocks(self) -> None:
        """With a clock that stays wrong every wait takes that much longer: a worker says until when it is."""
        for clock in self.clocks():
            clock.correct()

    def _kill(self) -> None:
        actor = self.loop.current
        self.loop.crash(actor)
        self._restart_later(actor.name)

    def _restart_later(self, name: str) -> None:
        delay_s = round(self._chance.random() * 3, 6)
        self.loop.call_later(delay_s, self.restart, name, context=self.loop.world.context)

    # -------------------------------------------------------------------------- actors

    def _host_store(self) -> None:
        self.network.host("store", _Services(self.store, self.playbooks, self.results, Credentials()))

    async def _server(self, name: str) -> None:
        network = self.network
        plane = Plane(
            store_at(network, "store", timeout_s=TIMEOUT_S),
            catalog_at(network, "store", timeout_s=TIMEOUT_S),
            results_at(network, "store", timeout_s=TIMEOUT_S),
            credentials_at(network, "store", timeout_s=TIMEOUT_S),
            self._system(name),
            self.given.limits,
        )
        watch(name, plane, self.books)
        self._teach(plane)
        plane.start()
        network.serve(Witness(plane, self.books, self.loop.fail))
        await self._live(name, plane)

    async def _worker(self, name: str) -> None:
        network = self.network
        tool = SimulatedTool(self.ledger)
        results = results_at(network, "store", timeout_s=TIMEOUT_S)
        credentials = credentials_at(network, "store", timeout_s=TIMEOUT_S)
        log = store_at(network, "store", timeout_s=TIMEOUT_S)
        tools = dict.fromkeys((kind.name for kind in KINDS), tool)
        equipment = Equipment(tools, results, log, credentials, self._system(name))
        control = control_plane_at(network, self.servers, timeout_s=TIMEOUT_S)
        life = f"{name}.{self.loop.current.life}"
        worker = Worker(life, control, equipment, self.given.worker, self.playbooks.pools)
        self._teach(worker)
        worker.start()
        await self._live(name, worker)

    def _teach(self, being: Plane | Worker) -> None:
        """Mostly they know the playbooks already: to make them ready again in every life takes a third of the time."""
        if self.given.seed % 4:
            being._programs._ready._known.update(self.playbooks.programs)

    async def _live(self, name: str, being: Plane | Worker) -> None:
        self._alive[name] = being
        self._exits[name] = self.loop.create_future()
        await self._exits[name]

    def _system(self, name: str) -> "_System":
        return _System(self._clocks[name], SeededChance(self.given.seed, name, self.loop.current.life))

    async def _client(self, root: Root) -> None:
        """Asks until someone answers; it thinks better of it at some time, or when the run goes in circles."""
        plane = cast(Plane, control_plane_at(self.network, self.servers, timeout_s=TIMEOUT_S))
        await asyncio.sleep(root.asked_at_s)
        await _insisted(lambda: plane.request(self.playbooks.root, {}, root.name))
        while not self._is_enough(root):
            await asyncio.sleep(TICK_S)
        self._cancelled.add(root.name)
        await _insisted(lambda: plane.cancel(root.name, "a person did it"))
        await self.loop.create_future()

    def _is_enough(self, root: Root) -> bool:
        is_time = root.cancel_at_s is not None and self.loop.time() >= root.cancel_at_s
        return is_time or self.books.families[root.name] > FACTS_MAX

    # -------------------------------------------------------------------------- leaving in peace

    async def _departures(self) -> None:
        """Every now and then a server or a worker is asked to leave, and comes back."""
        while not self.faults.is_over:
            await asyncio.sleep(self._chance.random() * 120 / self.given.departures)
            name = self._chance.choice([*self.servers, *self.workers])
            actor = self.loop.actor(name)
            if actor is not None and actor.condition is Condition.RUNNING and name in self._exits:
                self.loop.start(actor, self._leave(name))

    async def _leave(self, name: str) -> None:
        """Runs as the one who leaves."""
        being, actor, began_at = self._alive[name], self.loop.current, self.loop.time()
        self.loop.say(f"{name} is asked to leave")
        await (being.stop() if isinstance(being, Plane) else being.stop(DRAIN_S))
        if left := list(self.ledger.of(actor)):
            self.loop.fail(f"{name} stopped and leaves {left} running")
        if self.loop.time() - max(began_at, FAULTS_S) > LEAVING_S:
            self.loop.fail(f"{name} took {self.loop.time() - began_at:g} s to stop")
        self._restart_later(name)
        if not self._exits[name].done():
            self._exits[name].set_result(None)

    # -------------------------------------------------------------------------- the run

    def run(self) -> "World":
        with self.loop, _told_of_bugs(self.loop):
            try:
                self.loop.run(self._play())
            except (Idle, TooLong) as broken:
                self.loop.fail(str(broken))
            self._judge()
            self.failures = self.loop.failures()
        return self

    async def _play(self) -> None:
        self._host_store()
        for name in (*self.servers, *self.workers):
            self.restart(name)
        for root in self.given.roots:
            self.loop.spawn(f"client of {root.name}", self._client(root))
        self.faults.begin(self.network, self)
        self.loop.call_at(FAULTS_S, self._correct_clocks, context=self.loop.world.context)
        if self.given.departures:
            self.loop.start(self.loop.world, self._departures())
        while not self.is_over:
            await asyncio.sleep(TICK_S)
            self._check_life()
            if self.loop.has_failed:
                return
            self._skip_waiting()
        await self._settle()

    async def _settle(self) -> None:
        """What still runs is stopped in time, and nothing wakes up again. What is stored grows old, and is needed."""
        linger_s = self.given.linger_s
        if not self.results.is_empty:
            self.loop.skip(self.given.limits.collect_grace_s)
            linger_s = max(linger_s, 2 * COLLECT_S)
        ends_at = self.loop.time() + linger_s
        while self.loop.time() < ends_at or (not self.ledger.is_quiet and not self.loop.has_failed):
            await asyncio.sleep(TICK_S)
            self.ledger.check_stopped(STOPPED_S)

    @property
    def is_over(self) -> bool:
        is_begun = all(root.name in self.books.books for root in self.given.roots)
        return is_begun and self.books.is_over and not self.store.has_messages

    def _check_life(self) -> None:
        self.ledger.check_stopped(STOPPED_S)
        now = self.loop.time()
        if now - self._skipped_s > FAULTS_S + GRACE_S:
            self.loop.fail(f"not over {GRACE_S:g} s after the last fault: {sorted(self._living())}")
        if any(self._has_reason_to_wait(name) for name in self._living()):
            self._waited_until = now
        since = max((self._waited_until, *(book.changed_at for book in self.books.books.values())))
        if now - since > STILL_S:
            self.loop.fail(f"{sorted(self._living())} stand still since {since:g} s")

    def _skip_waiting(self) -> None:
        """When all that lives waits for a time to come, nobody needs to poll until then."""
        if self.faults.is_over and self.ledger.is_quiet and not self.store.is_astir:
            dues_s = [self.store.next_due_s(name) for name in self._living()]
            due_s = min((due_s for due_s in dues_s if due_s > float("-inf")), default=0.0)
            if due_s > 2 * SKIP_MIN_S:
                self.loop.skip(due_s - SKIP_MIN_S)
                self._skipped_s += due_s - SKIP_MIN_S

    def _living(self) -> dict[str, Book]:
        return {name: book for name, book in self.books.books.items() if book.ended_at is None}

    def _has_reason_to_wait(self, name: str) -> bool:
        """Faults, a time to come, or a lease that runs on since the store's clock jumped back."""
        if not self.faults.is_over or self.store.next_due_s(name) > 0:
            return True
        return self.store.lease_left_s(name) > 2 * self.given.worker.lease_s

    def _judge(self) -> None:
        if self.loop.failures():
            return
        if self.given.is_calm and self.books.leases.expiries:
            self.loop.fail(f"{self.books.leases.expiries} leases ran out, though nothing went wrong")
        for root in self.given.roots:
            if root.name not in self._cancelled:
                for difference in unexpected(self.given.play, self.playbooks, self.books, root.name):
                    self.loop.fail(f"the model says otherwise: {difference}")

    # -------------------------------------------------------------------------- what it shows

    failures: Sequence[str] = ()

    def log(self) -> str:
        """The compact log of every execution, and what is wrong with it."""
        logs = [f"--- {name}\n{compact(book.facts)}" for name, book in self.books.books.items()]
        return "\n".join([*logs, *self.failures])

    def story(self) -> str:
        return "\n".join([self.given.play.text, *self.loop.trace, self.log()])


@contextmanager
def _told_of_bugs(loop: SimulatedLoop) -> Iterator[None]:
    """What shells only write to their log is a bug of theirs."""
    log = logging.getLogger("noetl")
    handler = _Teller(loop)
    propagates, log.propagate = log.propagate, False
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.propagate = propagates


class _Teller(logging.Handler):
    def __init__(self, loop: SimulatedLoop) -> None:
        super().__init__(logging.ERROR)
        self._loop = loop

    def emit(self, record: logging.LogRecord) -> None:
        self._loop.fail(record.getMessage(), record.exc_info[1] if record.exc_info else None)


class _System:
    def __init__(self, clock: SimulatedClock, chance: SeededChance) -> None:
        self.now = clock.now
        self.monotonic = clock.monotonic
        self.new_id = chance.new_id
        self.draw = chance.draw


class _Services:
    """All that the database's machine offers, under one name."""

    def __init__(self, *parts: object) -> None:
        self._parts = parts

    def __getattr__(self, method: str) -> object:
        for part in self._parts:
            found = getattr(part, method, None)
            if found is not None:
                return found
        raise AttributeError(method)


async def _insisted(ask: Callable[[], Awaitable[T]]) -> T:
    while True:
        try:
            return await ask()
        except Unavailable:
            await asyncio.sleep(1.0)
