"""The worker's half: what comes next, from a pipeline and its cursor."""

import pytest

from noetl.engine.output import Output, Status, failed
from tests.engine.driver import Driver, fails
from tests.engine.logs import only
from tests.engine.texts import Answers, pipeline, run

PYTHON = 'kind: python, code: "x"'


def tasks(driver: Driver) -> str:
    return only(driver.facts, "task.done")


def test_tasks_run_in_order_and_the_last_output_is_that_of_the_step() -> None:
    driver = run(pipeline(f"- {{ name: a, {PYTHON} }}\n- {{ name: b, {PYTHON} }}"), a=1, b=2)
    assert tasks(driver) == "task.done s#1.a/1 1 continue to 1\ntask.done s#1.b/1 2 continue to 2"
    assert (driver.state.status, driver.data) == ("completed", 2)


def test_without_a_policy_an_error_fails_the_step() -> None:
    driver = run(pipeline(f"- {{ name: a, {PYTHON} }}\n- {{ name: b, {PYTHON} }}"), a=fails("crash"))
    assert tasks(driver) == "task.done s#1.a/1 !crash fail"
    assert driver.state.status == "failed"
    assert driver.state.error is not None
    assert driver.state.error.message == "step `s` failed and no arc takes it: it broke"


def test_the_first_rule_that_is_true_wins_and_else_takes_the_rest() -> None:
    text = pipeline(
        """
        - name: a
          kind: python
          code: x
          spec:
            policy:
              rules:
                - { when: "{{ output.data == 1 }}", then: { do: continue, set: { ctx.by: first } } }
                - { when: "{{ output.data >= 1 }}", then: { do: continue, set: { ctx.by: second } } }
                - else: { then: { do: break, set: { ctx.by: other } } }
        """
    )
    assert [run(text, a=data).state.ctx for data in (1, 2, 0)] == [{"by": "first"}, {"by": "second"}, {"by": "other"}]


@pytest.mark.parametrize(("word", "status"), [("continue", "completed"), ("fail", "failed")])
def test_an_output_that_no_rule_matches_goes_by_on_unmatched(word: str, status: str) -> None:
    text = pipeline(
        f"""
        - name: a
          kind: python
          code: x
          spec:
            policy:
              on_unmatched: {word}
              rules: [ {{ when: "{{{{ output.data == 1 }}}}", then: {{ do: continue }} }} ]
        """
    )
    driver = run(text, a=2)
    assert driver.state.status == status
    if status == "failed":
        assert driver.state.error is not None
        assert driver.state.error.kind == "failed"
        assert "playbook.yaml:9:9: task `a` was told to fail" in driver.state.error.message


def test_an_error_that_the_policy_lets_pass_ends_the_step_well_and_stays_visible() -> None:
    text = pipeline(
        """
        - name: a
          kind: python
          code: x
          spec: { policy: { rules: [ { when: "{{ output.status == 'error' }}", then: { do: continue } } ] } }
        """,
        step='next: { arcs: [ { step: s, when: "{{ false }}" } ] }\nset: { ctx.seen: "{{ output.error.kind }}" }',
    )
    driver = run(text, a=fails("crash"))
    assert driver.state.status == "completed"
    assert driver.state.ctx == {"seen": "crash"}
    assert driver.state.output.status is Status.ERROR


def test_a_guard_that_raises_fails_the_task_and_names_file_line_column_and_expression() -> None:
    text = pipeline(
        """
        - name: a
          kind: python
          code: x
          spec: { policy: { rules: [ { when: "{{ nope + 1 > 0 }}", then: { do: continue } } ] } }
        """.replace("nope", "output.data.x")
    )
    error = run(text, a={}).state.error
    assert error is not None
    assert error.kind == "template"
    assert "playbook.yaml:12:" in error.message
    assert "`{{ output.data.x + 1 > 0 }}`" in error.message
    assert isinstance(error.details, dict)
    assert error.details["expression"] == "{{ output.data.x + 1 > 0 }}"
    assert (error.details["file"], error.details["line"]) == ("playbook.yaml", 12)


def test_a_binding_error_is_an_output_that_goes_through_the_rules() -> None:
    text = pipeline(
        """
        - name: a
          kind: python
          code: x
          input: { y: "{{ ctx.nothing }}" }
          spec: { policy: { rules: [ { when: "{{ output.error.kind == 'template' }}", then: { do: break } } ] } }
        """
    )
    driver = run(text)
    assert tasks(driver) == "task.done s#1.a/1 !template break"
    assert driver.state.status == "completed"


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


JUMP = """
- name: a
  kind: python
  code: x
  spec: { policy: { rules: [ { when: "{{ output.status == 'error' }}", then: { do: retry, attempts: 2, delay: 0 } }] } }
- name: b
  kind: noop
  spec: { policy: { rules: [ { when: "{{ a.data < 2 }}", then: { do: jump, to: a } } ] } }
"""


def test_the_attempt_counter_starts_anew_after_a_jump_and_the_idempotency_key_with_it() -> None:
    answers = [fails(), Output(data=1), fails(), Output(data=2)]
    driver = run(pipeline(JUMP), a=answers)
    assert driver.state.status == "completed"
    assert only(driver.facts, "task.started") == (
        "task.started s#1.a/1\n"
        "task.started s#1.a/2 again of s#1.a/1\n"
        "task.started s#1.b/1\n"
        "task.started s#1.a/3\n"
        "task.started s#1.a/4 again of s#1.a/3\n"
        "task.started s#1.b/2"
    )


def test_break_ends_the_pipeline_well_with_the_output_of_the_task_that_broke() -> None:
    text = pipeline(
        f"""
        - {{ name: a, {PYTHON}, spec: {{ policy: {{ rules: [ {{ else: {{ then: {{ do: break }} }} }} ] }} }} }}
        - {{ name: b, {PYTHON} }}
        """
    )
    driver = run(text, a=1)
    assert tasks(driver) == "task.done s#1.a/1 1 break"
    assert (driver.state.status, driver.data) == ("completed", 1)


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


SKIPPED = """
- { name: a, kind: python, code: x }
- name: b
  kind: python
  code: x
  spec: { policy: { rules: [ { else: { then: { do: skip, set: { ctx.rule: 1 } } } } ] } }
  set: { ctx.task: "{{ output.data }}" }
- name: c
  kind: python
  code: x
  spec: { policy: { rules: [], before: [ { when: true, then: { do: skip, set: { ctx.before: 1 } } } ] } }
  set: { ctx.never: 1 }
- { name: d, kind: noop, set: { ctx.prev: "{{ _prev }}", ctx.b: "{{ b.data is defined }}" } }
"""


def test_skip_drops_the_output_in_rules_and_the_run_in_before_and_the_sets_apply() -> None:
    driver = run(pipeline(SKIPPED), a=1, b=2, c=3)
    assert tasks(driver) == (
        "task.done s#1.a/1 1 continue to 1\n"
        'task.done s#1.b/1 2 skip to 2 ctx{"task":2,"rule":1}\n'
        'task.done s#1.c/1 - skip to 3 ctx{"before":1}\n'
        'task.done s#1.d/1 - continue to 4 ctx{"prev":1,"b":false}'
    )


def test_a_pipeline_whose_last_task_is_skipped_has_the_output_of_the_one_before() -> None:
    skip = "{ name: b, kind: noop, spec: { policy: { rules: [], before: [ { when: true, then: { do: skip } } ] } } }"
    assert run(pipeline(f"- {{ name: a, {PYTHON} }}\n- {skip}"), a=1).data == 1
    assert run(pipeline(f"- {skip}")).data is None


@pytest.mark.parametrize(
    ("then", "line", "status"),
    [
        ("do: break, set: { ctx.x: 1 }", 'task.done s#1.b/1 - break ctx{"x":1}', "completed"),
        ("do: fail, set: { ctx.x: 1 }", 'task.done s#1.b/1 !failed fail ctx{"x":1}', "failed"),
        ("do: jump, to: d, set: { ctx.x: 1 }", 'task.done s#1.b/1 - jump to 3 ctx{"x":1}', "completed"),
    ],
)
def test_a_before_rule_may_control(then: str, line: str, status: str) -> None:
    text = pipeline(
        f"""
        - {{ name: a, {PYTHON} }}
        - {{ name: b, {PYTHON}, spec: {{ policy: {{ rules: [], before: [ {{ when: true, then: {{ {then} }} }} ] }} }} }}
        - {{ name: c, {PYTHON} }}
        - {{ name: d, kind: noop }}
        """
    )
    answers = Answers(a=1)
    driver = Driver(text, answers).run()
    assert line in tasks(driver)
    assert [name for name, _, _ in answers.calls] == ["a"]
    assert (driver.state.status, driver.state.ctx) == (status, {"x": 1})


BEFORE = """
- { name: a, kind: python, code: x }
- name: b
  kind: python
  code: x
  input: { page: "{{ ctx.page }}" }
  spec:
    policy:
      before: [ { when: "{{ output.data == 1 and _attempt == 1 }}", then: { do: continue, set: { ctx.page: 5 } } } ]
      rules: [ { when: "{{ output.status == 'error' }}", then: { do: retry, delay: 0 } } ]
"""


def test_what_a_before_rule_writes_travels_with_the_start_and_is_not_written_again_on_retry() -> None:
    answers = Answers(a=1, b=[fails(), Output(data=2)])
    driver = Driver(pipeline(BEFORE), answers).run()
    assert only(driver.facts, "task.started", "ctx") == (
        "task.started s#1.a/1\n"
        'task.started s#1.b/1 ctx{"page":5}\n'
        'ctx.patched {"page":5} by workflow/s/tool/b/before/0/set\n'
        "task.started s#1.b/2 again of s#1.b/1"
    )
    assert answers.given("b") == [{"page": 5}, {"page": 5}]


def test_before_rules_of_which_none_matches_let_the_tool_run() -> None:
    text = pipeline(
        """
        - {name: a, kind: noop, spec: {policy: {rules: [], before: [{when: "{{ output.x }}", then: {do: fail}}]}}}
        """
    )
    assert run(text).state.status == "completed"


def test_a_before_rule_that_raises_fails_the_task() -> None:
    text = pipeline(
        """
        - {name: a, kind: noop, spec: {policy: {rules: [], before: [{when: "{{ ctx.x + 1 }}", then: {do: skip}}]}}}
        """
    )
    assert tasks(run(text)) == "task.done s#1.a/1 !template fail"


PREVIOUS = """
- { name: a, kind: python, code: x }
- { name: b, kind: noop }
- { name: c, kind: python, code: x, spec: { policy: { rules: [ { else: { then: { do: continue } } } ] } } }
- name: d
  kind: python
  code: x
  input: { prev: "{{ _prev }}", task: "{{ _task }}", attempt: "{{ _attempt }}", c: "{{ c.status }}" }
"""


def test_the_previous_data_is_not_changed_by_noop_or_by_an_error() -> None:
    answers = Answers(a=1, c=fails())
    Driver(pipeline(PREVIOUS), answers).run()
    assert answers.given("d") == [{"prev": 1, "task": "d", "attempt": 1, "c": "error"}]


def test_in_a_v10_document_the_previous_data_of_http_has_the_shape_of_its_result() -> None:
    text = pipeline(
        """
        - { name: a, kind: http, url: "http://x" }
        - { name: b, kind: python, code: x, args: { prev: "{{ _prev }}", args: "{{ args.n }}", page: "{{ a.data }}" } }
        """,
        step="args: { n: 3 }",
        version="v10",
    )
    blocks = {"http": {"status": 200, "headers": {"x": "y"}}}
    answers = Answers(a=Output(data={"page": 1}, blocks=blocks))
    Driver(text, answers).run()
    shaped = {"data": {"page": 1}, "status_code": 200, "headers": {"x": "y"}}
    assert answers.given("b") == [{"n": 3, "prev": shaped, "args": 3, "page": {"page": 1}}]


def test_v10_rules_read_outcome_and_args() -> None:
    text = pipeline(
        """
        - name: a
          kind: http
          url: "http://x"
          args: { k: 2 }
          spec:
            policy:
              rules:
                - when: "{{ outcome.status == 'ok' and outcome.result.data.n == 1 and args.n == 3 and args.k == 2 }}"
                  then: { do: break, set_ctx: { seen: "{{ outcome.result.status_code }}" } }
                - else: { then: { do: fail } }
        """,
        step="args: { n: 3 }",
        version="v10",
    )
    driver = run(text, a=Output(data={"n": 1}, blocks={"http": {"status": 200}}))
    assert driver.state.ctx == {"seen": 200}


def test_python_and_script_receive_the_steps_input_and_other_kinds_their_own_fields() -> None:
    text = pipeline(
        """
        - { name: a, kind: python, code: x, input: { y: 2 } }
        - { name: b, kind: script, script: x }
        - { name: c, kind: http, url: "{{ input.x }}{{ input.z }}", input: { z: 3 }, auth: "{{ input.x }}" }
        """,
        step="input: { x: 1, y: 1 }",
    )
    answers = Answers()
    Driver(text.replace("x: 1", 'x: "1"'), answers).run()
    assert answers.given("a") == [{"x": "1", "y": 2}]
    assert answers.given("b") == [{"x": "1", "y": 1}]
    assert (answers.fields("c"), answers.given("c")) == ([{"url": "13"}], [{"z": 3}])


def test_the_task_s_own_input_lies_over_the_steps_in_its_rules_and_sets() -> None:
    text = pipeline(
        """
        - name: a
          kind: python
          code: x
          input: { y: 2 }
          spec: { policy: { rules: [ { when: "{{ input.y == 2 and input.x == 1 }}", then: { do: break } } ] } }
          set: { ctx.sum: "{{ input.x + input.y }}" }
        """,
        step="input: { x: 1, y: 1 }",
    )
    driver = run(text)
    assert driver.state.ctx == {"sum": 3}
    assert tasks(driver).startswith("task.done s#1.a/1 - break")


def test_an_auth_that_is_no_name_is_an_error_of_kind_input() -> None:
    text = pipeline('- { name: a, kind: http, url: "http://x", auth: "{{ workload.n }}" }', head="workload: { n: 3 }")
    driver = run(text)
    assert driver.state.error is not None
    assert driver.state.error.kind == "input"
    assert "`auth` must name a credential, and is int" in driver.state.error.message


def test_a_pipeline_may_run_no_more_tasks_than_its_budget() -> None:
    text = pipeline(
        """
        - { name: a, kind: noop }
        - { name: b, kind: noop, spec: { policy: { rules: [ { else: { then: { do: jump, to: a } } } ] } } }
        """,
        step="spec: { limits: { task_runs_max: 5 } }",
    )
    driver = run(text)
    assert tasks(driver).splitlines()[-2:] == [
        "task.done s#1.a/3 - continue to 1",
        "task.done s#1.b/3 !budget_exceeded fail",
    ]


def test_tasks_that_only_ever_decide_beforehand_use_up_the_budget_too() -> None:
    text = pipeline(
        """
        - {name: a, kind: noop, spec: {policy: {rules: [], before: [{when: true, then: {do: jump, to: a}}]}}}
        """,
        step="spec: { limits: { task_runs_max: 5 } }",
    )
    driver = run(text)
    assert driver.state.error is not None
    assert driver.state.error.kind == "budget_exceeded"
    assert len(tasks(driver).splitlines()) == 6


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


def test_a_pipeline_that_waits_for_a_child_has_nothing_to_do() -> None:
    text = pipeline("- { name: a, kind: playbook, path: child }")
    driver = Driver(text, playbooks={"child": pipeline("- { name: a, kind: noop }")}).run(1)
    assert not driver.move(driver.state.runs["s#1"])
