"""From an output to a fact: rules, sets, directives."""

import pytest

from noetl.engine import events as e
from noetl.engine.output import Output, failed
from tests.engine.driver import Driver, fails
from tests.engine.logs import only
from tests.engine.texts import pipeline, run

PYTHON = 'kind: python, code: "x"'


def tasks(driver: Driver) -> str:
    return only(driver.facts, "task.done")


RETRY = """
- name: a
  kind: python
  code: x
  spec:
    policy:
      rules:
        - when: "{{ output.status == 'error' }}"
          then: { do: retry, attempts: 3, delay: 2, backoff: exponential, set: { ctx.tries: "{{ _attempt }}" } }
  set: { ctx.done: "{{ output.data }}" }
"""


def test_a_retry_runs_the_same_task_again_and_its_set_applies_but_not_that_of_the_task() -> None:
    driver = run(pipeline(RETRY), a=[fails(), fails(), Output(data=7)])
    assert only(driver.facts, "task") == (
        "task.started s#1.a/1\n"
        'task.done s#1.a/1 !exception retry to 0 ctx{"tries":1}\n'
        "task.started s#1.a/2 again of s#1.a/1\n"
        'task.done s#1.a/2 !exception retry to 0 ctx{"tries":2}\n'
        "task.started s#1.a/3 again of s#1.a/1\n"
        'task.done s#1.a/3 7 continue to 1 ctx{"done":7}'
    )
    assert driver.now == 2 + 4


def test_attempts_used_up_fail_with_the_error_of_the_output() -> None:
    driver = run(pipeline(RETRY), a=fails("connect", "no route"))
    assert tasks(driver).splitlines()[-1] == 'task.done s#1.a/3 !connect fail ctx{"tries":3}'
    assert driver.state.error is not None
    assert driver.state.error.message.endswith("no route")


def test_polling_that_uses_up_its_attempts_says_so() -> None:
    text = pipeline(
        """
        - name: a
          kind: python
          code: x
          spec: { policy: { rules: [ { when: "{{ not output.data }}", then: { do: retry, attempts: 2, delay: 0 } }] } }
        """
    )
    driver = run(text, a=False)
    assert driver.state.error is not None
    assert "task `a` used up its 2 attempts" in driver.state.error.message
    assert driver.now == 0


def test_do_fail_fails_a_task_whose_tool_went_well_and_says_which_rule() -> None:
    text = pipeline(
        """
        - name: a
          kind: python
          code: x
          spec: { policy: { rules: [ { when: "{{ output.data == 1 }}", then: { do: fail } } ] } }
          set: { ctx.never: 1 }
        """
    )
    driver = run(text, a=1)
    assert driver.state.ctx == {}
    assert driver.state.error is not None
    assert driver.state.error.kind == "failed"
    assert isinstance(driver.state.error.details, dict)
    assert driver.state.error.details["path"] == "workflow/s/tool/a/rules/0"


def test_the_set_of_a_task_applies_before_that_of_its_rule_which_sees_it() -> None:
    text = pipeline(
        """
        - name: a
          kind: python
          code: x
          spec:
            policy:
              rules: [ { else: { then: { do: continue, set: { ctx.x: "{{ ctx.x + 1 }}", step.y: "{{ ctx.x }}" } } } } ]
          set: { ctx.x: "{{ output.data }}", ctx.z: "{{ output.data }}" }
        """,
        step='set: { ctx.y: "{{ step.y }}" }',
    )
    driver = run(text, a=10)
    assert driver.state.ctx == {"x": 11, "z": 10, "y": 10}
    assert only(driver.facts, "ctx") == (
        'ctx.patched {"z":10} by workflow/s/tool/a/set\n'
        'ctx.patched {"x":11} by workflow/s/tool/a/rules/0/set\n'
        'ctx.patched {"y":10} by workflow/s/set'
    )


def test_all_expressions_of_one_set_see_the_state_before_it() -> None:
    text = pipeline(
        """
        - { name: a, kind: noop, set: { ctx.x: 1, ctx.y: 2 } }
        - { name: b, kind: noop, set: { ctx.x: "{{ ctx.y }}", ctx.y: "{{ ctx.x }}" } }
        """
    )
    assert run(text).state.ctx == {"x": 2, "y": 1}


def test_a_set_that_cannot_be_evaluated_fails_the_pipeline() -> None:
    text = pipeline('- { name: a, kind: noop, set: { ctx.x: "{{ ctx.y }}" } }\n- { name: b, kind: noop }')
    driver = run(text)
    assert tasks(driver) == "task.done s#1.a/1 !template fail"


def test_what_a_failed_pipeline_wrote_stays_and_its_arcs_see_it() -> None:
    text = (
        pipeline(
            f"""
        - {{ name: a, kind: noop, set: {{ ctx.x: 1, step.y: 2 }} }}
        - {{ name: b, {PYTHON} }}
        """,
            step="""
        next: { arcs: [ { step: s, when: "{{ step.y == 3 }}" }, { step: t, when: "{{ step.y == 2 }}" } ] }
        """,
        )
        + "  - { step: t, tool: { kind: noop } }\n"
    )
    driver = run(text, b=fails())
    assert driver.state.status == "completed"
    assert driver.state.ctx == {"x": 1}


@pytest.mark.parametrize("delay", ["'{{ ctx.x }}'", "'{{ true }}'", "'{{ -1 }}'"])
def test_a_delay_that_is_no_number_of_seconds_fails_the_pipeline(delay: str) -> None:
    text = pipeline(
        f"""
        - name: a
          kind: noop
          spec: {{ policy: {{ rules: [ {{ else: {{ then: {{ do: retry, delay: {delay} }} }} }} ] }} }}
        """
    )
    driver = run(text)
    assert driver.state.error is not None
    assert driver.state.error.kind == "template"
    assert "playbook.yaml:11:" in driver.state.error.message


def test_a_delay_may_be_a_template() -> None:
    text = pipeline(
        """
        - name: a
          kind: python
          code: x
          spec:
            policy:
              rules:
                - when: "{{ output.status == 'error' }}"
                  then: { do: retry, delay: "{{ output.error.details.after }}" }
        """
    )
    later = failed("http_status", "later", details={"after": 30})
    assert run(text, a=[later, Output()]).now == 30


def test_every_field_of_an_output_can_be_read_whether_it_applies_or_not() -> None:
    text = pipeline(
        """
        - name: a
          kind: python
          code: x
          spec: { policy: { rules: [ { else: { then: { do: break } } } ] } }
          set:
            ctx.error: "{{ output.error }}"
            ctx.meta: "{{ [output.meta.attempt, output.meta.task_run_id, output.meta.trace_id] }}"
        """,
        step="""
        set: { ctx.event: "{{ [event.error, event.loop] }}" }
        """,
    )
    driver = run(text, a=fails())
    assert driver.state.ctx == {
        "error": {"kind": "exception", "message": "it broke", "retryable": False, "details": None},
        "meta": [1, "s#1.a/1", None],
        "event": [None, None],
    }


def test_a_retry_without_a_delay_is_due_at_no_time() -> None:
    policy = (
        "{ policy: { rules: [ { when: '{{ not output.data }}', then: { do: retry, attempts: 2, delay: DELAY } } ] } }"
    )
    text = pipeline(f"- {{ name: a, kind: python, code: x, spec: {policy} }}")
    for delay, due_at in (("0", None), ("0.5", 0.5), ("2", 2.0)):
        driver = run(text.replace("DELAY", delay), a=[Output(), Output(data=1)])
        done = [fact for fact in driver.facts if isinstance(fact, e.TaskDone)]
        assert [fact.due_at for fact in done] == [due_at, None]


# ------------------------------------------------------------------------------ what the kind adds

ASKING = """
- name: a
  {kind}
  spec:
    policy:
      rules:
        - else: {{ then: {{ do: continue, set: {{ ctx.seen: "{{{{ output.{block} }}}}" }} }} }}
"""


@pytest.mark.parametrize(
    ("kind", "block", "seen"),
    [
        (
            "kind: http\n  url: 'x{{ ctx.none }}'",
            "http",
            {"status": None, "headers": {}, "request_id": None, "url": None},
        ),
        (
            "kind: python\n  code: x\n  input: { x: '{{ ctx.none }}' }",
            "py",
            {"exception_type": None, "traceback": None},
        ),
        (
            "kind: script\n  script: x\n  input: { x: '{{ ctx.none }}' }",
            "process",
            {"exit_code": None, "stdout": None, "stderr": None},
        ),
        (
            "kind: playbook\n  path: x\n  input: { x: '{{ ctx.none }}' }",
            "playbook",
            {"execution_id": None, "status": None},
        ),
    ],
)
def test_a_rule_may_ask_for_the_block_of_the_kind_though_the_tool_did_not_run(
    kind: str, block: str, seen: object
) -> None:
    driver = run(pipeline(ASKING.format(kind=kind, block=block)))
    assert driver.state.ctx["seen"] == seen


def test_a_block_is_what_the_tool_says_where_it_says_something() -> None:
    said = Output(blocks={"py": {"exception_type": "E", "traceback": "T"}})
    driver = run(pipeline(ASKING.format(kind="kind: python\n  code: x", block="py")), a=said)
    assert driver.state.ctx["seen"] == {"exception_type": "E", "traceback": "T"}
