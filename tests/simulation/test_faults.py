import asyncio
from collections.abc import Sequence

import pytest

from tests.simulation.clocks import SimulatedClock
from tests.simulation.faults import Faults, Rates, draw_rates
from tests.simulation.loop import SimulatedLoop
from tests.simulation.network import Carriage, Network, Service

UNTIL_S = 600.0
NAMES = ("a", "b", "c")


class Stage:
    """Three actors that tick, and come back when they have crashed."""

    def __init__(self, loop: SimulatedLoop) -> None:
        self.loop = loop
        self._clocks = [SimulatedClock(loop, name) for name in NAMES]

    def victims(self) -> Sequence[str]:
        return NAMES[:2]

    def restart(self, name: str) -> None:
        self.loop.spawn(name, tick())

    def lines(self) -> Sequence[tuple[str, str]]:
        return (("a", "b"), ("a", "c"), ("b", "c"))

    def clocks(self) -> Sequence[SimulatedClock]:
        return self._clocks


async def tick() -> None:
    while True:
        await asyncio.sleep(0.5)


def suffer(seed: int, rates: Rates) -> Sequence[str]:
    """The trace of twice the time of faults, with everyone alive at the end."""

    async def main() -> None:
        stage = Stage(loop)
        for name in NAMES:
            stage.restart(name)
        faults = Faults(loop, rates, until_s=UNTIL_S)
        faults.begin(Network(loop, faults), stage)
        await asyncio.sleep(2 * UNTIL_S)

    with SimulatedLoop(seed) as loop:
        loop.run(main())
        assert all((actor := loop.actor(name)) and actor.is_alive for name in NAMES)
        return loop.trace


def said(trace: Sequence[str], word: str) -> Sequence[str]:
    return [line for line in trace if word in line]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("rates", "word"),
    [
        (Rates(crashes=3.0), "crashes"),
        (Rates(freezes=3.0), "freezes"),
        (Rates(partitions=1.0), "are parted"),
        (Rates(jumps=1.0), "jumps"),
        (Rates(blackouts=0.5), "a crashes"),
    ],
)
def test_every_fault_happens_until_the_last_moment_and_not_after(seed: int, rates: Rates, word: str) -> None:
    told = said(suffer(seed, rates), word)
    assert 3 < len(told) < 60
    assert all(float(line.split()[0]) < UNTIL_S for line in told)


def test_outages_are_over_by_the_last_moment() -> None:
    for seed in range(10):
        trace = suffer(seed, Rates(freezes=8.0))
        assert len(said(trace, "thaws")) == len(said(trace, "freezes"))
        assert all(float(line.split()[0]) <= UNTIL_S for line in said(trace, "thaws"))


def test_who_is_no_victim_does_not_crash() -> None:
    trace = suffer(1, Rates(crashes=8.0, blackouts=1.0))
    assert said(trace, "a crashes")
    assert said(trace, "b crashes")
    assert not said(trace, "c crashes")


def test_without_rates_nothing_happens() -> None:
    assert len(suffer(1, Rates())) == 1


def shares(carriage: Carriage, rates: Rates, at_s: float = 0.0) -> dict[object, int]:
    """What becomes of 2,000 messages and calls."""
    with SimulatedLoop(1) as loop:
        loop.run(asyncio.sleep(at_s))
        faults = Faults(loop, rates, until_s=UNTIL_S)
        journeys = [faults.journey(carriage) for _ in range(2_000)]
        services = [faults.service(carriage) for _ in range(2_000)]
    return {
        "lost": sum(not journey for journey in journeys),
        "doubled": sum(len(journey) == 2 for journey in journeys),
        "slow": sum(delay > 0.02 for journey in journeys for delay in journey),
        "refused": services.count(Service.REFUSED),
        "forgotten": services.count(Service.FORGOTTEN),
    }


ALL = Rates(lost=0.1, doubled=0.1, slow=0.1, refused=0.1, forgotten=0.1)


def test_messages_are_lost_doubled_and_slow_as_often_as_was_drawn() -> None:
    found = shares(Carriage.MESSAGES, ALL)
    assert found["refused"] == found["forgotten"] == 0
    assert all(150 < found[kind] < 250 for kind in ("lost", "doubled", "slow"))


def test_a_session_loses_no_message_but_the_store_may_refuse_or_forget() -> None:
    found = shares(Carriage.SESSION, ALL)
    assert found["lost"] == found["doubled"] == 0
    assert all(150 < found[kind] < 250 for kind in ("slow", "refused", "forgotten"))


@pytest.mark.parametrize("carriage", Carriage)
def test_after_the_last_moment_all_is_well(carriage: Carriage) -> None:
    assert set(shares(carriage, ALL, UNTIL_S).values()) == {0}


def test_a_seed_draws_some_kinds_of_faults_and_all_seeds_draw_all() -> None:
    drawn = [draw_rates(seed) for seed in range(50)]
    assert drawn == [draw_rates(seed) for seed in range(50)]
    counts = {name: sum(getattr(rates, name) > 0 for rates in drawn) for name in Rates.__struct_fields__}
    assert all(10 < count < 40 for count in counts.values())
