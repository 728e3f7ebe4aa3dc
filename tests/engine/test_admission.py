"""Tokens at a step's door."""

from tests.engine.driver import Driver
from tests.engine.logs import only
from tests.engine.texts import playbook, run


def guarded(admit: str, head: str = "") -> str:
    return playbook(
        f"""
        - {{ step: a, set: {{ ctx.x: 1 }}, next: {{ arcs: [ {{ step: b }} ] }} }}
        - step: b
          spec: {{ policy: {{ admit: {{ {admit} }} }} }}
          tool: {{ kind: noop }}
        """,
        head=head,
    )


def test_a_step_without_admission_lets_every_token_in() -> None:
    assert "step.scheduled b#1" in run(playbook("- { step: b, tool: { kind: noop } }")).log()


def test_the_first_admission_rule_that_is_true_decides() -> None:
    rules = 'rules: [ { when: "{{ ctx.x == 1 }}", then: { allow: false } }, { else: { then: { allow: true } } } ]'
    driver = run(guarded(rules))
    assert only(driver.facts, "step.sk", "step.sch", "workflow.f") == (
        "step.scheduled a#1\nstep.skipped b\nworkflow.finished completed -"
    )


def test_the_else_of_an_admission_takes_what_no_rule_does_wherever_it_stands() -> None:
    rules = 'rules: [ { else: { then: { allow: true } } }, { when: "{{ ctx.x == 2 }}", then: { allow: false } } ]'
    assert "step.scheduled b#1" in run(guarded(rules)).log()


def test_rules_of_which_none_matches_deny() -> None:
    assert "step.skipped b" in run(guarded('rules: [ { when: "{{ ctx.x == 2 }}", then: { allow: true } } ]')).log()


def test_admission_sees_the_event_that_sent_the_token() -> None:
    rules = "rules: [ { when: \"{{ event.name == 'step.done' and event.step == 'a' }}\", then: { allow: true } } ]"
    assert "step.scheduled b#1" in run(guarded(rules)).log()
    first = playbook(
        """
        - step: b
          input: { by: "{{ event.name }}" }
          spec:
            policy: { admit: { rules: [ { when: "{{ event.name == 'workflow.started' }}", then: { allow: true } } ] } }
          tool: { kind: noop }
        """
    )
    assert 'step.scheduled b#1 {"by":"workflow.started"}' in run(first).log()


def test_an_admission_that_raises_fails_the_execution_naming_the_place() -> None:
    driver = run(guarded('rules: [ { when: "{{ ctx.nope + 1 }}", then: { allow: true } } ]'))
    assert driver.state.error is not None
    assert isinstance(driver.state.error.details, dict)
    assert driver.state.error.details["path"] == "workflow/b/admit/0/when"
    assert driver.state.error.details["line"] == 8


def test_an_input_that_cannot_be_bound_fails_the_execution_naming_the_place() -> None:
    driver = run(playbook('- { step: a, input: { x: "{{ ctx.nope }}" }, tool: { kind: noop } }'))
    assert driver.state.status == "failed"
    assert driver.state.error is not None
    assert "playbook.yaml:6:" in driver.state.error.message


WAITING = """
- step: start
  next: { spec: { mode: inclusive }, arcs: [ { step: gate, set: { ctx.n: 0 } }, { step: count } ] }
- step: gate
  spec: { policy: { admit: { on_deny: wait, rules: [ { when: "{{ ctx.n == 2 }}", then: { allow: true } } ] } } }
  tool: { kind: noop }
- step: count
  tool: { kind: noop, set: { ctx.n: "{{ ctx.n + 1 }}" } }
  next: { arcs: [ { step: count, when: "{{ ctx.n < LIMIT }}" } ] }
"""


def test_a_token_that_is_to_wait_gets_in_once_ctx_allows_it() -> None:
    driver = run(playbook(WAITING.replace("LIMIT", "2")))
    assert only(driver.facts, "step.sch", "step.sk", "ctx").splitlines() == [
        "step.scheduled start#1",
        'ctx.patched {"n":0} by workflow/start/next/0/set',
        "step.scheduled count#1",
        'ctx.patched {"n":1} by workflow/count/tool/count_task/set',
        "step.scheduled count#2",
        'ctx.patched {"n":2} by workflow/count/tool/count_task/set',
        "step.scheduled gate#1",
    ]
    assert driver.state.status == "completed"


def test_tokens_of_which_none_can_ever_get_in_fail_the_execution() -> None:
    driver = run(playbook(WAITING.replace("LIMIT", "1")))
    assert driver.state.error is not None
    assert driver.state.error.kind == "admission_deadlock"
    assert "only tokens that are not admitted are left, at `gate`" in driver.state.error.message


def test_a_token_behind_one_that_waits_gets_in_by_itself() -> None:
    text = playbook(
        """
        - step: start
          next:
            spec: { mode: inclusive }
            arcs: [ { step: gate, args: { n: 1 } }, { step: gate, args: { n: 2 } }, { step: end } ]
        - step: gate
          spec:
            policy: { admit: { on_deny: wait, rules: [ { when: "{{ args.n == ctx.open }}", then: { allow: true } } ] } }
          tool: { kind: noop, set: { ctx.open: 1 } }
        - { step: end, tool: { kind: noop, set: { ctx.open: 2 } } }
        """,
        version="v10",
    )
    driver = run(text)
    assert only(driver.facts, "step.sch").splitlines()[-2:] == [
        'step.scheduled gate#1 {"n":2}',
        'step.scheduled gate#2 {"n":1}',
    ]
    assert driver.state.status == "completed"


def test_a_deadline_counts_from_being_scheduled() -> None:
    driver = Driver(playbook("- { step: a, spec: { policy: { lifecycle: { deadline_s: 9 } } }, tool: { kind: noop } }"))
    assert driver.state.runs["a#1"].deadline_at == 9
