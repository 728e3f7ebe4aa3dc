import pytest

from noetl.expressions.sites import OLD_WORDS, SCOPE_WORDS, Site, visible

SERVER = {"workload", "ctx", "input", "args", "execution_id", "event"}
WORKER = {"workload", "ctx", "step", "input", "args", "execution_id", "_prev", "_task", "_attempt"}
OUTPUT = {"output", "outcome"}


@pytest.mark.parametrize(
    ("site", "words"),
    [
        (Site.STEP_INPUT, SERVER),
        (Site.LOOP_IN, SERVER),
        (Site.MAX_IN_FLIGHT, SERVER),
        (Site.ADMIT_WHEN, SERVER),
        (Site.STEP_SET, SERVER | OUTPUT | {"step"}),
        (Site.ARC_WHEN, SERVER | OUTPUT | {"step"}),
        (Site.ARC_SET, SERVER | OUTPUT | {"step"}),
        (Site.ARC_ARGS, SERVER | OUTPUT | {"step"}),
        (Site.TASK_INPUT, WORKER | {"keychain"}),
        (Site.CALL_INPUT, WORKER),
        (Site.WORKBOOK_INPUT, WORKER),
        (Site.BEFORE_WHEN, WORKER | OUTPUT),
        (Site.BEFORE_SET, WORKER | OUTPUT),
        (Site.RULE_WHEN, WORKER | OUTPUT),
        (Site.RULE_SET, WORKER | OUTPUT),
        (Site.TASK_SET, WORKER | OUTPUT),
        (Site.SELECT, WORKER | OUTPUT),
        (Site.DELAY, WORKER | OUTPUT),
        (Site.KEYCHAIN_FIELD, {"workload", "execution_id"}),
    ],
)
def test_a_site_sees_its_words(site: Site, words: set[str]) -> None:
    assert visible(site, in_loop=False) == words
    has_iter = site.sees_iterators
    assert visible(site, in_loop=True) == (words | {"iter"} if has_iter else words)
    assert words <= SCOPE_WORDS
    assert site.allows_keychain == ("keychain" in words)


def test_workers_see_tasks_and_iterators_and_all_but_the_keychain_see_steps() -> None:
    assert {site for site in Site if site.sees_tasks} == {site for site in Site if "_prev" in site.words}
    assert {site for site in Site if site.sees_iterators} == {
        Site.LOOP_IN,
        *(site for site in Site if site.is_worker_side),
    }
    assert {site for site in Site if not site.sees_steps} == {Site.KEYCHAIN_FIELD}


def test_guards_are_the_whens() -> None:
    assert {site for site in Site if site.is_guard} == {
        Site.ADMIT_WHEN,
        Site.ARC_WHEN,
        Site.BEFORE_WHEN,
        Site.RULE_WHEN,
    }
    assert all(site.title for site in Site)


def test_old_words_have_a_new_one() -> None:
    assert {*OLD_WORDS, *OLD_WORDS.values()} <= SCOPE_WORDS
