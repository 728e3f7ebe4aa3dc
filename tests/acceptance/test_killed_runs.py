from pathlib import Path
from random import Random

from tests.acceptance.runs import killed_run


def test_a_run_that_is_killed_again_and_again_ends_with_every_iteration_recorded_once(tmp_path: Path) -> None:
    verdict = killed_run(tmp_path, 40, Random(11), life_s=0.5)
    assert verdict.wrong == ()
    assert verdict.kills > 0
    assert verdict.calls >= 40
