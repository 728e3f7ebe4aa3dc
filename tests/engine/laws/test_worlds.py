"""Laws that hold in every world. Most of them are judged at every transaction, in `executions` and `monitor`."""

from hypothesis import given, settings

from tests.engine.laws.cases import Case, bulky_cases, cases, dialect_cases, one_branch_cases
from tests.engine.laws.judging import (
    can_be_explained,
    can_run_again,
    ends,
    is_independent_of_order,
    is_repeatable,
    snapshots_agree,
    spellings_agree,
    storing_changes_nothing,
)


@settings(max_examples=40)
@given(case=cases())
def test_every_run_ends_and_its_log_explains_it_whatever_goes_wrong(case: Case) -> None:
    ends(case)


@settings(max_examples=10)
@given(case=cases())
def test_the_same_case_gives_the_same_logs(case: Case) -> None:
    is_repeatable(case)


@settings(max_examples=10)
@given(case=cases())
def test_a_snapshot_and_the_events_after_it_come_to_the_state_of_all_events(case: Case) -> None:
    snapshots_agree(case)


@settings(max_examples=10)
@given(case=cases())
def test_every_log_can_be_explained(case: Case) -> None:
    can_be_explained(case)


@settings(max_examples=10)
@given(case=cases())
def test_what_has_ended_can_run_again_and_ends_again(case: Case) -> None:
    can_run_again(case)


@settings(max_examples=20)
@given(case=bulky_cases())
def test_storing_data_outside_the_log_changes_nothing(case: Case) -> None:
    storing_changes_nothing(case)


@settings(max_examples=20)
@given(case=one_branch_cases())
def test_the_result_of_a_parallel_loop_does_not_depend_on_the_finishing_order(case: Case) -> None:
    is_independent_of_order(case)


@settings(max_examples=20)
@given(pair=dialect_cases())
def test_v10_and_canonical_spellings_of_a_playbook_give_the_same_log(pair: tuple[Case, Case]) -> None:
    spellings_agree(*pair)
