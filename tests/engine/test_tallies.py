"""What the state keeps of steps for people, however their runs come and go."""

from noetl.engine import events as e
from noetl.engine.commands import RequestExecution
from noetl.engine.evolve import evolve, fold
from noetl.engine.output import Error, Output, failed
from noetl.engine.rerun import Cut
from noetl.engine.state import FAILURES_MAX
from tests.engine import playbooks
from tests.engine.driver import Driver
from tests.engine.rerunning import rerun
from tests.engine.texts import playbook

TWICE = playbook("""
- step: start
  next: { spec: { mode: inclusive }, arcs: [ { step: both }, { step: both } ] }
- step: both
  tool: { kind: python, code: x }
""")


def test_of_two_runs_at_once_the_one_that_was_scheduled_last_is_told_of() -> None:
    driver = Driver(TWICE)
    before = driver.state.steps["both"]
    assert (before.status, before.runs, before.last) == ("running", 2, "both#2")
    evolve(driver.program, driver.state, e.StepFailed("both#1", failed("exception", "no")))
    assert driver.state.steps["both"] == before
    evolve(driver.program, driver.state, e.StepDone("both#2", Output()))
    assert (before.status, before.ended, before.error) == ("done", driver.state.seq, None)


def test_events_are_named_by_their_numbers() -> None:
    driver = Driver(playbooks.FAN).run()
    tally = driver.state.steps["left"]
    assert isinstance(driver.facts[tally.begun - 1], e.StepScheduled)
    assert isinstance(driver.facts[tally.ended - 1], e.StepDone)


def test_a_step_that_fails_keeps_why() -> None:
    driver = Driver(playbooks.FAN, lambda *_: failed("exception", "no")).run()
    tally = driver.state.steps["left"]
    assert (tally.status, tally.error is not None) == ("failed", True)


def test_what_runs_when_the_execution_ends_ends_with_it() -> None:
    for status, told in (("failed", "failed"), ("cancelled", "cancelled")):
        driver = Driver(playbooks.FAN)
        evolve(driver.program, driver.state, e.WorkflowFinished(status, Output(), Error("x", "y")))
        assert driver.state.steps["left"].status == told


def test_what_has_ended_and_was_not_routed_yet_keeps_its_end() -> None:
    driver = Driver(playbooks.FAN)
    evolve(driver.program, driver.state, e.StepDone("left#1", Output()))
    evolve(driver.program, driver.state, e.WorkflowFinished("cancelled", Output()))
    assert [driver.state.steps[step].status for step in ("left", "right")] == ["done", "cancelled"]


def test_a_rerun_keeps_what_its_origin_gave_until_it_runs_again() -> None:
    text = playbook("""
    - { step: a, tool: { kind: python, code: x }, next: { arcs: [ { step: b } ] } }
    - { step: b, tool: { kind: python, code: x } }
    """)
    origin = Driver(text).run()
    request = rerun(origin.program, "x", origin.facts, Cut("b"), now=0.0)
    assert isinstance(request, RequestExecution)
    again = Driver(text, request=("y", request)).run()
    assert [(step, tally.status, tally.runs) for step, tally in again.state.steps.items()] == [
        ("a", "kept", 0),
        ("b", "done", 1),
    ]
    assert fold(again.program, "y", again.facts) == again.state


LOOPS = playbook("""
- step: start
  next: { spec: { mode: inclusive }, arcs: [ { step: each }, { step: each } ] }
- step: each
  spec: { policy: { failure: { mode: best_effort } } }
  loop: { in: "{{ range(15) | list }}", iterator: i, spec: { mode: parallel } }
  tool: { kind: python, code: x }
""")


def test_the_first_iterations_of_the_last_run_that_failed_are_named_by_their_events() -> None:
    driver = Driver(LOOPS, lambda *_: failed("exception", "no")).run()
    tally = driver.state.steps["each"]
    assert (tally.failed, len(tally.failures)) == (15, FAILURES_MAX)
    named = [driver.facts[number - 1] for number in (tally.looped, *tally.failures)]
    assert {type(fact) for fact in named} == {e.LoopStarted, e.IterationFailed}
    assert {fact.step_run_id for fact in named if isinstance(fact, e.LoopStarted | e.IterationFailed)} == {"each#2"}
