"""Why a step ran, was skipped, or was never reached."""

from noetl.engine import events as e
from noetl.engine.envelope import stamp
from noetl.engine.explain.steps import Fate, explain_step
from noetl.engine.output import failed
from tests.engine import playbooks
from tests.engine.driver import Driver
from tests.engine.test_snapshot import Tool


def text(driver: Driver, step: str) -> str:
    return explain_step(driver.program, driver.events, step).text


def test_a_step_that_ran_names_its_runs() -> None:
    driver = Driver(playbooks.PAGES, Tool()).run()
    found = explain_step(driver.program, driver.events, "done")
    assert (found.fate, found.runs) == (Fate.RAN, ("done#1",))
    assert found.text.startswith("done ran: done#1\nfetch_all#1 → done was taken")


def test_a_step_that_was_never_reached_tells_of_every_arc_to_it() -> None:
    driver = Driver(playbooks.PAGES, Tool()).run()
    found = explain_step(driver.program, driver.events, "never")
    assert found.fate is Fate.UNREACHED
    assert found.text.startswith("never was never reached\nfetch_all#1 → never was not taken")


def test_a_step_whose_sources_were_not_routed_says_so() -> None:
    driver = Driver(playbooks.FAN, lambda *_: failed("exception", "no")).run()
    found = explain_step(driver.program, driver.events, "both")
    assert found.silent == ("right",)
    assert found.text.endswith("right, which has an arc to it, was not routed")


def test_a_skipped_step_names_the_rule_that_denied() -> None:
    driver = Driver(playbooks.DOORS, Tool()).run()
    skips = {
        step: explain_step(driver.program, driver.events, step).skips for step in ("by_rule", "by_else", "by_none")
    }
    texts = {step: found[0].text.partition(" (event")[0] for step, found in skips.items()}
    assert texts == {
        "by_rule": "by_rule was skipped (token from start#1): "
        "admission rule 1 denies, and its guard `{{ not workload.open }}` was true",
        "by_else": "by_else was skipped (token from start#1): admission rule 1, the `else`, denies",
        "by_none": "by_none was skipped (token from start#1): "
        "no admission rule matched, and without `else` that denies",
    }
    assert explain_step(driver.program, driver.events, "by_rule").fate is Fate.SKIPPED
    assert text(driver, "by_rule").startswith("by_rule was reached and turned away\nby_rule was skipped")


def test_a_step_with_a_token_at_its_door_was_reached() -> None:
    driver = Driver(playbooks.DOORS, Tool())
    assert explain_step(driver.program, driver.events, "patient").fate is Fate.AT_DOOR
    assert text(driver, "patient").startswith("patient was reached and has not been let in")


def test_a_skip_for_another_reason_gives_that_reason() -> None:
    driver = Driver(playbooks.FAN, Tool())
    skipped = e.StepSkipped("both", [e.Token("both", e.Trigger("workflow.started"))], reason="the budget is spent")
    events = stamp([skipped], execution_id="x", after=0, timestamp=0.0, parent=None)
    found = explain_step(driver.program, events, "both")
    assert found.skips[0].text == "both was skipped: the budget is spent (event 1)"
