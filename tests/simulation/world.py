"""Several servers and workers, their store and a client, under faults that a seed decides; and the verdict."""

import asyncio
from collections.abc import Sequence
from random import Random
from typing import cast

import msgspec

from noetl.control_plane.limits import Limits as ServerLimits
from noetl.control_plane.plane import Plane
from noetl.data_plane.equipment import Equipment
from noetl.data_plane.limits import Limits as WorkerLimits
from noetl.data_plane.worker import Worker
from noetl.ports import Unavailable
from tests.engine.laws.cases import Case, case
from tests.engine.logs import compact
from tests.simulation.books import Books, fingerprint
from tests.simulation.clocks import SeededChance, SimulatedClock
from tests.simulation.faults import Faults, Rates, draw_rates
from tests.simulation.loop import Idle, SimulatedLoop, TooLong
from tests.simulation.network import Network
from tests.simulation.stage import Credentials, JudgedStore, KeptResults, Ledger, Playbooks, SimulatedTool
from tests.simulation.wire import catalog_at, control_plane_at, credentials_at, results_at, store_at

ROOT = "x"
FAULTS_S = 90.0
"""Faults happen until then."""

GRACE_S = 4_000.0
"""After the last fault everything ends within this: waits of playbooks, leases, poison."""

FACTS_MAX = 400
"""A run with more of them goes in circles, and is cancelled."""

TIMEOUT_S = 5.0
KINDS = ("noop", "http", "python", "script", "postgres", "duckdb", "resolve", "secrets")
SERVER = ServerLimits(poll_s=4.0, sweep_s=3.0, inspect_s=20.0, snapshot_every=25, letters_max=20, warm_max=3)
WORKER = WorkerLimits(slots=4, prefetch=2, lease_s=12.0, renew_s=3.0, margin_s=2.0, poll_s=8.0, patience_s=2.0)


class Setting(msgspec.Struct, frozen=True):
    """A run from its seed: the playbook, how many of each there are, what goes wrong."""

    seed: int
    case: Case
    rates: Rates
    servers: int
    workers: int
    store_jumps: bool
    cancel_at_s: float | None


def setting(seed: int, rates: Rates | None = None) -> Setting:
    chance = Random(f"{seed}/setting")
    cancel_at_s = round(chance.random() * FAULTS_S / 2, 3) if chance.random() < 0.15 else None
    return Setting(
        seed,
        case(chance.randrange(2**32)),
        rates or draw_rates(seed),
        chance.randint(1, 3),
        chance.randint(1, 4),
        chance.random() < 0.2,
        cancel_at_s,
    )


class World:
    """One run. `failures` is what no run may show."""

    def __init__(self, given: Setting) -> None:
        self.given = given
        self.loop = SimulatedLoop(given.seed)
        self.faults = Faults(self.loop, given.rates, until_s=FAULTS_S)
        self.network = Network(self.loop, self.faults)
        self.playbooks = Playbooks(given.case)
        self.results = KeptResults()
        self.books = Books(self.playbooks.programs.__getitem__, self.results.read, self.loop.fail)
        self._clocks = {name: self._clock(name) for name in ("store", *self.servers, *self.workers)}
        self.store = JudgedStore(self._clocks["store"], self.books)
        is_strict = not (given.store_jumps and given.rates.jumps) and given.rates.freezes == 0
        self.ledger = Ledger(given.case, self.playbooks, self.books, self.loop.fail, is_strict=is_strict)
        self.planes: dict[str, Plane] = {}

    @property
    def servers(self) -> Sequence[str]:
        return [f"server-{number}" for number in range(1, self.given.servers + 1)]

    @property
    def workers(self) -> Sequence[str]:
        return [f"worker-{number}" for number in range(1, self.given.workers + 1)]

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
            SERVER,
        )
        self.planes[name] = plane
        plane.start()
        network.serve(plane)
        await self.loop.create_future()

    async def _worker(self, name: str) -> None:
        network = self.network
        tool = SimulatedTool(self.ledger)
        results = results_at(network, "store", timeout_s=TIMEOUT_S)
        credentials = credentials_at(network, "store", timeout_s=TIMEOUT_S)
        equipment = Equipment(dict.fromkeys(KINDS, tool), results, credentials, self._system(name))
        control = control_plane_at(network, self.servers, timeout_s=TIMEOUT_S)
        worker = Worker(f"{name}.{self.loop.current.life}", control, equipment, WORKER, self.playbooks.pools)
        worker.start()
        await self.loop.create_future()

    def _system(self, name: str) -> "_System":
        return _System(self._clocks[name], SeededChance(self.given.seed, name, self.loop.current.life))

    async def _client(self) -> None:
        """Asks until someone answers; it thinks better of it at some time, or when the run goes in circles."""
        control = control_plane_at(self.network, self.servers, timeout_s=TIMEOUT_S)
        plane = cast(Plane, control)
        await _insisted(lambda: plane.request(self.playbooks.root, {}, ROOT))
        while not self._is_enough():
            await asyncio.sleep(1.0)
        await _insisted(lambda: plane.cancel(ROOT, "a person did it"))
        await self.loop.create_future()

    def _is_enough(self) -> bool:
        cancel_at_s = self.given.cancel_at_s
        if cancel_at_s is not None and self.loop.time() >= cancel_at_s:
            return True
        return sum(len(book.facts) for book in self.books.books.values()) > FACTS_MAX

    # -------------------------------------------------------------------------- the run

    def run(self) -> "World":
        with self.loop:
            try:
                self.loop.run(self._play())
            except (Idle, TooLong) as broken:
                self.loop.fail(str(broken))
            self._judge()
        return self

    async def _play(self) -> None:
        self._host_store()
        for name in (*self.servers, *self.workers):
            self.restart(name)
        self.loop.spawn("client", self._client())
        self.faults.begin(self.network, self)
        while not self.is_over:
            await asyncio.sleep(2.0)
            self._compare()
            if self.loop.time() > FAULTS_S + GRACE_S:
                self.loop.fail(f"not over {GRACE_S:g} s after the last fault: {self._alive()}")
                return

    @property
    def is_over(self) -> bool:
        books = self.books.books.values()
        return ROOT in self.books.books and all(book.state.has_ended for book in books) and not self._has_messages()

    def _has_messages(self) -> bool:
        return bool(self.store._agenda._messages)  # noqa: SLF001

    def _alive(self) -> Sequence[str]:
        return [name for name, book in self.books.books.items() if not book.state.has_ended]

    def _compare(self) -> None:
        """What servers hold in memory against what the log comes to, wherever nothing is under way."""
        for name, plane in self.planes.items():
            actor = self.loop.actor(name)
            if actor is None or not actor.is_alive:
                continue
            for box in plane._executions._mailboxes._boxes.values():  # noqa: SLF001
                book = self.books.books.get(box.execution_id)
                if box.is_busy or box.loaded is None or book is None:
                    continue
                state = box.loaded[0]
                if state.seq in book.prints and book.prints[state.seq] != fingerprint(state):
                    self.loop.fail(f"{name} serves a state of {box.execution_id} at {state.seq} that its log does not give")

    def _judge(self) -> None:
        for incidents in self.store._incidents.values():  # noqa: SLF001
            for incident in incidents.values():
                self.loop.fail(f"incident: {incident.message}")

    # -------------------------------------------------------------------------- what it shows

    @property
    def failures(self) -> Sequence[str]:
        return self.loop.failures()

    def story(self) -> str:
        logs = [f"--- {name}\n{compact(book.facts)}" for name, book in self.books.books.items()]
        return "\n".join([*self.loop.trace, self.given.case.text, *logs, *self.failures])


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


async def _insisted(ask: object) -> object:
    assert callable(ask)
    while True:
        try:
            return await ask()
        except Unavailable:
            await asyncio.sleep(1.0)
