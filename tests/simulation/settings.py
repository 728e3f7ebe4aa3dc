"""A run from its seed: what is played, how many of each there are, how tight their bounds are, and what goes wrong."""

from random import Random

import msgspec

from noetl.control_plane.limits import Limits as ServerLimits
from noetl.data_plane.limits import Limits as WorkerLimits
from tests.simulation.faults import Rates, draw_rates
from tests.simulation.plays import Play, play

FAULTS_S = 90.0
"""Faults happen until then."""

CALM_SHARE = 0.12
GRACE_S = 120.0
"""Stored objects that no event refers to are left alone so long: faults are over by then, and all is committed."""

GRACE_LONG_S = 20_000.0
COLLECT_S = 12.0
SERVER = ServerLimits(
    poll_s=4.0,
    sweep_s=3.0,
    inspect_s=20.0,
    snapshot_every=25,
    letters_max=20,
    warm_max=3,
    collect_grace_s=GRACE_S,
    collect_every_s=COLLECT_S,
    collect_look_s=COLLECT_S,
    collect_after_s=1.0,
    collect_digits=0,
)
WORKER = WorkerLimits(slots=4, prefetch=2, lease_s=12.0, renew_s=3.0, margin_s=2.0, poll_s=8.0, patience_s=2.0)
TIGHT_SERVER = msgspec.structs.replace(SERVER, waiting_max=2, letters_max=2, group_max=2, warm_max=1, read_max=2)
TIGHT_WORKER = msgspec.structs.replace(WORKER, slots=1, prefetch=1, untold_max=4, report_max=3)


class Root(msgspec.Struct, frozen=True):
    """An execution that a client asks for, and may cancel."""

    name: str
    asked_at_s: float
    cancel_at_s: float | None = None


class Setting(msgspec.Struct, frozen=True):
    """`has_killers`: some tasks kill every worker that tries them. `departures` are graceful stops in a minute."""

    seed: int
    play: Play
    rates: Rates
    roots: tuple[Root, ...]
    servers: int
    workers: int
    server: ServerLimits = SERVER
    worker: WorkerLimits = WORKER
    store_jumps: bool = False
    has_killers: bool = False
    departures: float = 0.0
    long_share: float = 0.05
    """How many tools outlive their first lease, or some more."""

    linger_s: float = 0.0
    """How long everyone goes on after the last execution has ended."""

    @property
    def limits(self) -> ServerLimits:
        """Those of servers. Where the clock that says how old objects are jumps, only a long grace period is one."""
        is_long = self.store_jumps and self.rates.jumps > 0
        return msgspec.structs.replace(self.server, collect_grace_s=GRACE_LONG_S) if is_long else self.server

    @property
    def is_calm(self) -> bool:
        """Nothing goes wrong at all."""
        return self.rates == Rates() and not self.has_killers and not self.departures


def setting(seed: int) -> Setting:
    chance = Random(f"{seed}/setting")

    def happens(share: float) -> bool:
        return chance.random() < share

    is_calm = happens(CALM_SHARE)
    return Setting(
        seed,
        play(seed),
        Rates() if is_calm else draw_rates(seed),
        _roots(chance),
        chance.randint(1, 3),
        chance.randint(1, 4),
        TIGHT_SERVER if happens(0.2) else SERVER,
        TIGHT_WORKER if happens(0.2) else WORKER,
        happens(0.2),
        not is_calm and happens(0.2),
        chance.random() * 8 if not is_calm and happens(0.25) else 0.0,
        0.3 if is_calm or happens(0.25) else 0.05,
        40.0 if happens(0.1) else 0.0,
    )


def _roots(chance: Random) -> tuple[Root, ...]:
    """The first begins at once, others while things go wrong; every now and then someone thinks better of it."""
    found: list[Root] = []
    for number in range(chance.choice((1, 1, 2, 3))):
        asked_at_s = round(chance.random() * FAULTS_S / 2, 3) if number else 0.0
        cancel_at_s = asked_at_s + chance.random() ** 2 * FAULTS_S / 2 if chance.random() < 0.15 else None
        found.append(Root(f"x{number + 1}", asked_at_s, cancel_at_s))
    return tuple(found)
