import pytest

from noetl.playbook.compile import compile_playbook
from tests.playbook.fuzz import Failure, base_texts, campaign, complaint_about, shrunk

CI_COUNT = 2_000


@pytest.mark.serial
def test_spoiled_playbooks_never_crash_hang_or_exceed_the_bounds() -> None:
    failures: list[Failure] = list(campaign(seed=2, count=CI_COUNT, say=lambda _: None))
    assert failures == []


def test_a_campaign_begins_with_playbooks_that_compile_and_such_that_do_not() -> None:
    sound = [compile_playbook(text, "base.yaml").playbook is not None for text in base_texts(1)]
    assert {True, False} == set(sound)


def test_a_sound_playbook_gives_no_reason_to_complain() -> None:
    assert complaint_about(base_texts(1)[-1].encode()) is None


def test_an_input_without_a_complaint_is_not_made_smaller() -> None:
    assert shrunk(b"a: 1\nb: 2\n", "no such complaint") == b"a: 1\nb: 2\n"
