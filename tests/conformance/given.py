"""What tests put into stores, in few words."""

from collections.abc import Sequence

from noetl.engine.commands import EndWait, ExpireStep
from noetl.engine.effects import Effect, OfferWork, SetTimer
from noetl.engine.events import Path
from noetl.engine.holds import Hold
from noetl.engine.leases import DELIVERIES_MAX
from noetl.engine.worklist import Progress
from noetl.ports import Append, Appended, Ask, Expired, Granted, Store, Summary
from tests.conformance.homes import HandClock

E = "e1"
LEASE_S = 10.0


def task(run: str = "a#1", *, pool: str | None = None) -> OfferWork:
    return OfferWork(run, pool=pool)


def loop(run: str = "a#1", path: Path = (), *, count: int = 10, slots: int = 3, local: Path | None = None) -> OfferWork:
    return OfferWork(run, path, count, slots, local=local)


def ask(
    worker: str = "w1", *, slots: int = 10, indexes_max: int = 1, pools: Sequence[str] = (), within: str = ""
) -> Ask:
    return Ask(worker, slots, LEASE_S, indexes_max, pools, within)


def wait_timer(run: str, path: Path, due_at: float, timer_id: str | None = None) -> SetTimer:
    return SetTimer(timer_id or f"{run}:{path}:wait", due_at, EndWait(run, path, f"{run}:t"))


def deadline(run: str, due_at: float) -> SetTimer:
    return SetTimer(f"{run}:deadline", due_at, ExpireStep(run, "deadline"))


def summary(execution_id: str, status: str = "running", at: float = 1.0, head: int = 1) -> Summary:
    return Summary(execution_id, "folder/playbook", "digest", status, at, at, head)


def progress(
    granted: Granted, *, begun: tuple[int, ...] = (), ended: tuple[int, ...] = (), parked: tuple[int, ...] = ()
) -> Progress:
    return Progress(granted.row, granted.lease.epoch, begun, ended, parked)


async def append(
    store: Store,
    *effects: Effect,
    name: str = E,
    events: Sequence[bytes] = (b"event",),
    progress: Sequence[Progress] = (),
    done: Sequence[int] = (),
    asks: Sequence[Ask] = (),
    summary: Summary | None = None,
    holds: Sequence[Hold] = (),
) -> Appended:
    """An append that must succeed."""
    head = await store.head(name)
    (answer,) = await store.commit([Append(name, head, events, effects, progress, done, asks, summary, holds)])
    assert isinstance(answer, Appended), answer
    return answer


async def claimed(store: Store, *, worker: str = "w1", slots: int = 10, indexes_max: int = 1) -> Granted:
    """The one thing that there is to do."""
    (granted,) = await store.claim(ask(worker, slots=slots, indexes_max=indexes_max), 10)
    return granted


async def poison(store: Store, clock: HandClock) -> Sequence[Expired]:
    """One piece of work is handed out until it counts as poison."""
    told: Sequence[Expired] = ()
    for _ in range(DELIVERIES_MAX):
        await claimed(store)
        clock.pass_s(LEASE_S)
        told = await store.expire(100)
    return told
