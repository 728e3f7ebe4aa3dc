import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

import pytest

from noetl.engine.effects import OfferWork
from noetl.engine.leases import Lease
from noetl.ports import Append, Appended, Ask, Claim, Conflict, Granted, Poll, Registered, Store, Unavailable
from noetl.storage.memory.store import MemoryStore
from tests.simulation.clocks import SimulatedClock
from tests.simulation.loop import SimulatedLoop
from tests.simulation.network import Calm, Network
from tests.simulation.wire import control_plane_at, store_at

ASK = Ask("worker", slots=1, lease_s=30.0)
APPEND = Append("e1", 0, events=(b"{}",), effects=(OfferWork("r1"),), asks=(ASK,))


class Server:
    """Answers polls after they have waited, and counts."""

    def __init__(self) -> None:
        self.polls = 0

    async def poll(self, ask: Ask, wait_s: float) -> Poll:
        self.polls += 1
        assert ask == ASK
        await asyncio.sleep(wait_s)
        return Poll(revoked=frozenset({7}))

    async def heartbeat(self, leases: Sequence[Granted], lease_s: float) -> frozenset[int]:
        await asyncio.sleep(lease_s)
        return frozenset(lease.lease.epoch for lease in leases)


def play(act: Callable[[SimulatedLoop, Network], Awaitable[None]]) -> float:
    async def begin() -> None:
        await act(loop, Network(loop, Calm()))

    with SimulatedLoop(1) as loop:
        loop.run(begin())
        assert loop.failures() == []
        return loop.time()


def test_a_poll_may_wait_longer_than_other_calls() -> None:
    async def act(loop: SimulatedLoop, network: Network) -> None:
        network.host("server-1", Server())
        await asyncio.sleep(1)
        plane = control_plane_at(network, ("server-1",), timeout_s=5)
        assert await plane.poll(ASK, 20.0) == Poll(revoked=frozenset({7}))
        with pytest.raises(Unavailable, match="no answer in time"):
            await plane.heartbeat((), 20.0)
        assert loop.time() == pytest.approx(26.002)

    assert play(act) > 0


def test_a_worker_keeps_to_a_server_until_it_fails() -> None:
    servers = {name: Server() for name in ("server-1", "server-2")}

    async def act(loop: SimulatedLoop, network: Network) -> None:
        actors = {name: network.host(name, server) for name, server in servers.items()}
        await asyncio.sleep(1)
        plane = control_plane_at(network, tuple(servers), timeout_s=5)
        for _ in range(5):
            await plane.poll(ASK, 0.0)
        (first,) = (name for name, server in servers.items() if server.polls)
        loop.crash(actors[first])
        for _ in range(20):
            with suppress(Unavailable):
                await plane.poll(ASK, 0.0)

    assert play(act) > 0
    assert sorted(server.polls > 5 for server in servers.values()) == [False, True]


def test_a_store_is_used_over_the_wire_as_it_is_at_home() -> None:
    async def act(loop: SimulatedLoop, network: Network) -> None:
        network.host("store", MemoryStore(SimulatedClock(loop, "store")))
        await asyncio.sleep(1)
        store: Store = store_at(network, "store", timeout_s=5)
        (granted,) = await store.commit((APPEND,))
        assert isinstance(granted, Appended)
        assert len(granted.granted) == 1
        assert await store.head("e1") == 1
        assert await store.read("e1", 0, 10) == (b"{}",)
        assert await store.renew(granted.granted, 30.0) == frozenset()
        assert await store.commit((APPEND,)) == [Conflict(1)]

    assert play(act) > 0


def test_records_arrive_equal_and_of_their_types() -> None:
    claim = Claim(
        Granted("e1", ("r1", ()), Lease(9, "worker", 60.0, 1, 0, 1), 2, 3),
        "d",
        "load",
        True,
        ctx={"a": [1, {"b": None}]},
    )

    class Echo:
        async def poll(self, ask: Ask, wait_s: float) -> Poll:
            assert (ask, wait_s) == (ASK, 0.0)
            return Poll(claims=(claim,))

        async def playbook(self, digest: str) -> Registered | None:
            return Registered("a/b", "1", digest, b"{}")

    async def act(loop: SimulatedLoop, network: Network) -> None:
        assert loop.time() == 0
        network.host("server", Echo())
        await asyncio.sleep(1)
        plane = control_plane_at(network, ("server",), timeout_s=5)
        (got,) = (await plane.poll(ASK, 0.0)).claims
        assert got == claim
        assert got is not claim
        assert await plane.playbook("d") == Registered("a/b", "1", "d", b"{}")

    assert play(act) > 0
