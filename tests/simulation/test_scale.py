"""The shells at scale, in small: what is counted is right, and cost follows the number of units."""

from tests.simulation.scale import STEPS, idle_workers, long_loop, many_executions


def test_every_execution_ends_and_every_step_costs_one_claim() -> None:
    cost = many_executions(30, workers=10)
    assert cost.claims == 30 * STEPS
    assert cost.commits >= 30
    assert cost.unit_us > 0


def test_a_long_loop_takes_few_claims_and_commits() -> None:
    cost = long_loop(600, workers=5)
    assert cost.claims < 600 / 4
    assert cost.commits < 600 / 4


def test_workers_with_nothing_to_do_claim_nothing() -> None:
    cost = idle_workers(10, 60.0)
    assert (cost.claims, cost.virtual_s) == (0, 60.0)
