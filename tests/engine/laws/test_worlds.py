"""Laws that hold in every world. Those of every transaction are judged in `executions` and `monitor`, while it runs."""

from hypothesis import given, settings

from tests.engine.laws.cases import Case, bulky_cases, cases, dialect_cases, one_branch_cases
from tests.engine.laws.judging import (
    broken_reruns,
    differing_orders,
    differing_repeats,
    differing_snapshots,
    differing_spellings,
    effects_of_storing,
    ran,
    unexplained,
)


@settings(max_examples=40)
@given(case=cases())
def test_every_run_ends_and_its_log_explains_it_whatever_goes_wrong(case: Case) -> None:
    assert ran(case).unended == []


@settings(max_examples=10)
@given(case=cases())
def test_the_same_case_gives_the_same_logs(case: Case) -> None:
    broken = next(differing_repeats(case), "")
    assert not broken, broken


@settings(max_examples=10)
@given(case=cases())
def test_a_snapshot_and_the_events_after_it_come_to_the_state_of_all_events(case: Case) -> None:
    broken = next(differing_snapshots(case), "")
    assert not broken, broken


@settings(max_examples=10)
@given(case=cases())
def test_every_log_can_be_explained(case: Case) -> None:
    broken = next(unexplained(case), "")
    assert not broken, broken


@settings(max_examples=10)
@given(case=cases())
def test_what_has_ended_can_run_again_and_ends_again(case: Case) -> None:
    broken = next(broken_reruns(case), "")
    assert not broken, broken


@settings(max_examples=20)
@given(case=bulky_cases())
def test_storing_data_outside_the_log_changes_nothing(case: Case) -> None:
    broken = next(effects_of_storing(case), "")
    assert not broken, broken


@settings(max_examples=20)
@given(case=one_branch_cases())
def test_the_result_of_a_parallel_loop_does_not_depend_on_the_finishing_order(case: Case) -> None:
    broken = next(differing_orders(case), "")
    assert not broken, broken


@settings(max_examples=20)
@given(pair=dialect_cases())
def test_v10_and_canonical_spellings_of_a_playbook_give_the_same_log(pair: tuple[Case, Case]) -> None:
    broken = next(differing_spellings(*pair), "")
    assert not broken, broken
