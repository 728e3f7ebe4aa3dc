"""The world as a whole: its seeds hold, a seed always gives the same trace, and the command tells its story."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulation.campaign import run_many
from tests.simulation.settings import setting
from tests.simulation.world import World

ROOT = Path(__file__).parents[2]
SEEDS = 48
GROUPS = 8
PRINT = """
import hashlib
from tests.simulation.settings import setting
from tests.simulation.world import World
for seed in (2, 5, 11, 16):
    print(seed, hashlib.sha256(World(setting(seed)).run().story().encode()).hexdigest())
"""


@pytest.mark.parametrize("group", range(GROUPS))
def test_nothing_that_goes_wrong_breaks_a_promise(group: int) -> None:
    size = SEEDS // GROUPS
    failed = {ran.seed: ran.failures for ran in run_many(range(group * size, (group + 1) * size), 1) if ran.failures}
    assert failed == {}


def test_a_seed_gives_the_same_trace_byte_for_byte_in_every_process() -> None:
    printed = {_printed(hash_seed) for hash_seed in ("0", "1", "12345")}
    assert len(printed) == 1
    seed, told = printed.pop().split("\n")[0].split()
    story = World(setting(int(seed))).run().story()
    assert hashlib.sha256(story.encode()).hexdigest() == told


def test_many_seeds_in_several_processes_come_to_the_same_as_in_one() -> None:
    alone = [(ran.seed, ran.callbacks, ran.facts) for ran in run_many(range(12), 1)]
    assert [(ran.seed, ran.callbacks, ran.facts) for ran in run_many(range(12), 2)] == alone


def test_the_command_tells_the_story_of_a_seed() -> None:
    ran = _run("-m", "tests.simulation", "--seed", "5")
    assert ran.returncode == 0
    assert "seed 5: " in ran.stdout
    assert "playbook.processed" in ran.stdout
    assert "asks store commit" in ran.stdout


def test_the_command_counts_seeds() -> None:
    ran = _run("-m", "tests.simulation", "--from", "8", "--count", "4", "--jobs", "2")
    assert ran.returncode == 0
    assert ran.stdout.startswith("4 seeds, 0 failed; ")


def _printed(hash_seed: str) -> str:
    return _run("-c", PRINT, hash_seed=hash_seed).stdout


def _run(*arguments: str, hash_seed: str = "0") -> "subprocess.CompletedProcess[str]":
    environment = os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
