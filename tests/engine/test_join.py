"""`join: all`: the step waits for all that can still come and runs once."""

import pytest

from tests.engine.driver import Driver, fails
from tests.engine.logs import only
from tests.engine.texts import Answers, playbook, run

FAN = """
- { step: a, next: { spec: { mode: inclusive }, arcs: [ { step: b }, { step: c } ] } }
- { step: b, tool: { name: b, kind: python, code: x }, next: { arcs: [ { step: j } ] } }
- step: c
  tool: { name: c, kind: python, code: x }
  next: { arcs: [ { step: j, when: "{{ output.data != 'stop' }}" } ] }
- { step: j, spec: { join: all }, tool: { kind: noop } }
"""


@pytest.mark.parametrize("seed", range(4))
def test_a_join_runs_once_when_no_other_token_can_come(seed: int) -> None:
    driver = Driver(playbook(FAN), seed=seed).run()
    scheduled = [line for line in driver.log().splitlines() if line.startswith("step.scheduled j")]
    assert len(scheduled) == 1
    assert driver.state.status == "completed"


def test_a_join_knows_its_sources_in_the_order_of_arrival() -> None:
    driver = run(playbook(FAN))
    assert (
        'step.scheduled j#1 {"joined":['
        '{"step":"b","step_run_id":"b#1","event":"step.done"},{"step":"c","step_run_id":"c#1","event":"step.done"}]}'
    ) in driver.log()


def test_a_join_does_not_wait_for_a_branch_that_ended_elsewhere() -> None:
    driver = run(playbook(FAN), c="stop")
    assert "step.scheduled j#1" in driver.log()
    assert driver.state.status == "completed"


def test_v10_arguments_meet_at_a_join_in_the_order_of_arrival() -> None:
    text = FAN.replace(
        "{ step: b }, { step: c }", "{ step: b, args: { x: 1, b: 1 } }, { step: c, args: { x: 2, c: 2 } }"
    )
    driver = run(playbook(text, version="v10"))
    assert 'step.scheduled j#1 {"x":2,"b":1,"c":2,"joined"' in driver.log()


def test_without_a_join_every_token_runs_the_step() -> None:
    driver = run(playbook(FAN.replace("join: all", "join: each")))
    assert "step.scheduled j#2" in driver.log()


def test_a_join_is_admitted_once_when_it_fires() -> None:
    when = "{{ input.joined | length == 2 }}"
    rules = (
        f"spec: {{ join: all, policy: {{ admit: {{ rules: [ {{ when: '{when}', then: {{ allow: true }} }} ] }} }} }}"
    )
    driver = run(playbook(FAN.replace("spec: { join: all }", rules)))
    assert only(driver.facts, "step.sch").splitlines()[-1].startswith("step.scheduled j#1")
    denied = run(playbook(FAN.replace("spec: { join: all }", rules.replace("== 2", "== 3"))))
    assert only(denied.facts, "step.sk") == "step.skipped j"
    assert denied.state.status == "completed"


def test_a_join_whose_admission_waits_and_is_never_given_fails_the_execution() -> None:
    rules = (
        "spec: { join: all, policy: { admit: { on_deny: wait, rules: [ { when: false, then: { allow: true } } ] } } }"
    )
    driver = run(playbook(FAN.replace("spec: { join: all }", rules)))
    assert driver.state.error is not None
    assert driver.state.error.kind == "admission_deadlock"


CYCLE = """
- { step: a, next: { spec: { mode: inclusive }, arcs: [ { step: j }, { step: b } ] } }
- { step: b, tool: { name: b, kind: python, code: x }, next: { arcs: [ { step: j } ] } }
- step: j
  spec: { join: all }
  tool: { kind: noop, set: { ctx.n: "{{ (ctx.n | default(0)) + 1 }}" } }
  next: { arcs: [ { step: b, when: "{{ ctx.n < 3 }}" } ] }
"""


def test_a_join_in_a_cycle_runs_once_a_round() -> None:
    driver = run(playbook(CYCLE))
    assert driver.state.ctx == {"n": 3}
    assert only(driver.facts, "step.sch").count("step.scheduled j#") == 3


TWO = """
- { step: a, next: { spec: { mode: inclusive }, arcs: [ { step: j }, { step: k } ] } }
- step: j
  spec: { join: all }
  tool: { kind: noop }
  next: { arcs: [ { step: k, when: "{{ not ctx.x }}", set: { ctx.x: 1 } } ] }
- step: k
  spec: { join: all }
  tool: { kind: noop }
  next: { arcs: [ { step: j, when: "{{ not ctx.x }}", set: { ctx.x: 1 } } ] }
"""


def test_of_two_joins_that_wait_for_each_other_the_earliest_fires() -> None:
    driver = run(playbook(TWO))
    assert driver.state.status == "completed"
    assert [line.split()[1] for line in only(driver.facts, "step.sch").splitlines()] == ["a#1", "j#1", "k#1"]


def test_a_join_may_be_reached_after_a_failure() -> None:
    text = FAN.replace("arcs: [ { step: j } ]", "arcs: [ { step: j, when: true } ]")
    driver = Driver(playbook(text), Answers(b=fails())).run()
    assert '"event":"step.failed"' in driver.log()
    assert driver.state.status == "completed"


def test_a_token_that_waits_to_be_admitted_lets_a_join_fire_that_it_could_still_reach() -> None:
    text = playbook(
        """
        - { step: a, next: { spec: { mode: inclusive }, arcs: [ { step: gate }, { step: j } ] } }
        - step: gate
          spec: { policy: { admit: { on_deny: wait, rules: [ { when: "{{ ctx.open }}", then: { allow: true } } ] } } }
          tool: { kind: noop }
          next: { arcs: [ { step: j } ] }
        - { step: j, spec: { join: all }, tool: { kind: noop, set: { ctx.open: true } } }
        """
    )
    driver = run(text)
    assert driver.state.status == "completed"
    assert [line.split()[1] for line in only(driver.facts, "step.sch").splitlines()] == ["a#1", "j#1", "gate#1", "j#2"]
