import os
import subprocess
import sys
import time

import pytest

from tests.simulation.faults import Rates
from tests.simulation.rehearsal import FAULTS_UNTIL_S, rehearse

SEEDS = range(60)
WORST = Rates(0.15, 0.15, 0.15, 0.15, 0.15, crashes=30.0, freezes=10.0, partitions=6.0, jumps=6.0, blackouts=2.0)


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_acknowledged_is_lost_and_all_ends(seed: int) -> None:
    rehearsal, _ = rehearse(seed)
    assert rehearsal.acknowledged == set(rehearsal.ledger.entries)
    assert rehearsal.is_done()


@pytest.mark.parametrize("seed", range(10))
def test_the_worst_weather_too_comes_to_an_end(seed: int) -> None:
    rehearsal, _ = rehearse(seed, WORST)
    assert rehearsal.is_done()
    assert rehearsal.loop.time() < 2 * FAULTS_UNTIL_S


def test_a_seed_gives_one_trace_in_one_process() -> None:
    traces = [tuple(rehearse(seed, WORST)[1]) for seed in SEEDS]
    assert traces == [tuple(rehearse(seed, WORST)[1]) for seed in SEEDS]
    assert len(set(traces)) == len(SEEDS)


@pytest.mark.parametrize("seed", [3, 11])
def test_a_seed_gives_one_trace_in_all_processes(seed: int) -> None:
    """Hashes of texts and addresses of objects differ from process to process; nothing may follow from them."""
    traces = {_trace_of_process(seed, hash_seed) for hash_seed in ("1", "2", "77")}
    assert len(traces) == 1
    assert traces.pop().startswith(b"0.000000 ")


def _trace_of_process(seed: int, hash_seed: str) -> bytes:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    command = [sys.executable, "-m", "tests.simulation.rehearsal", str(seed)]
    return subprocess.run(command, env=environment, check=True, capture_output=True).stdout


@pytest.mark.serial
def test_two_thousand_callbacks_cost_well_under_fifty_milliseconds() -> None:
    """Network, faults and trace included, of the processor's time."""
    before_s = time.process_time()
    callbacks = sum(rehearse(seed, WORST)[0].loop.callbacks for seed in SEEDS)
    assert (time.process_time() - before_s) / callbacks * 2_000 < 0.05
