"""The worker's half: what comes next, from a pipeline and its cursor."""

import pytest

from noetl.engine import events as e
from noetl.engine.cursor import apply
from noetl.engine.output import Output, Status
from noetl.engine.pipeline import kind_of
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
    assert "`auth` must name a credential, and is a number" in driver.state.error.message


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


def test_a_pipeline_that_waits_for_a_child_has_nothing_to_do() -> None:
    text = pipeline("- { name: a, kind: playbook, path: child }")
    driver = Driver(text, playbooks={"child": pipeline("- { name: a, kind: noop }")}).run(1)
    assert not driver.move(driver.state.runs["s#1"])


SUGAR = """
- { name: init, kind: noop, set: { step.n: 0 } }
- name: pick
  choose:
    - { when: "{{ workload.way == 'a' }}", tool: [ { name: a, kind: python, code: x } ] }
    - { when: "{{ workload.way == 'b' }}", tool: [ { name: b, kind: python, code: x } ] }
    - else: { tool: [ { name: c, kind: python, code: x } ] }
- { name: more, while: { when: "{{ step.n < 2 }}", tool: [ { name: w, kind: noop, set: { step.n: "{{ step.n + 1 }}" } } ] } }
- { name: last, until: { when: "{{ step.n >= 4 }}", tool: [ { name: u, kind: noop, set: { step.n: "{{ step.n + 1 }}" } } ] } }
- { name: end, kind: python, code: x, input: { n: "{{ step.n }}" } }
"""  # noqa: E501


@pytest.mark.parametrize("way", ["a", "b", "z"])
def test_sugar_runs_as_it_reads(way: str) -> None:
    answers = Answers()
    Driver(pipeline(SUGAR, head=f"workload: {{ way: {way} }}"), answers).run()
    assert [name for name, _, _ in answers.calls] == [way if way != "z" else "c", "end"]
    assert answers.given("end") == [{"n": 4}]


def test_a_loop_of_sugar_ends_in_failure_when_its_rounds_are_used_up() -> None:
    text = pipeline("- { name: more, while: { when: true, max: 3, tool: [ { name: w, kind: python, code: x } ] } }")
    answers = Answers()
    driver = Driver(text, answers).run()
    assert driver.state.status == "failed"
    assert len(answers.calls) == 3
    assert driver.state.error is not None
    assert driver.state.error.message.endswith(": `more` has run 3 rounds, which is its `max`")
    assert "more_round" not in driver.state.error.message, "nobody wrote that"


@pytest.mark.parametrize(
    "last",
    [
        "{ name: pick, choose: [ { when: true, tool: [ { name: w, kind: python, code: x } ] } ] }",
        "{ name: u, until: { when: true, max: 3, tool: [ { name: w, kind: python, code: x } ] } }",
        "{ name: u, until: { when: true, tool: [ { name: w, kind: python, code: x } ] } }",
        "{ name: no, while: { when: false, max: 3, tool: [ { name: never, kind: python, code: x } ] } }",
        "{ name: pick, choose: [ { when: false, tool: [ { name: never, kind: python, code: x } ] } ] }",
    ],
)
def test_the_output_after_sugar_is_that_of_the_last_task_of_the_author(last: str) -> None:
    first = "{ name: w0, kind: python, code: x }"
    driver = run(pipeline(f"- {first}\n- {last}"), w0=[Output(data=7)], w=[Output(data=7)])
    assert driver.data == 7


COUNTS = """
- name: a
  kind: python
  code: x
  spec:
    policy:
      before: [ { when: true, then: { do: continue, set: { ctx.entries: "{{ (ctx.entries | default(0)) + 1 }}" } } } ]
      rules: [ { when: "{{ output.status == 'error' }}", then: { do: retry, attempts: 3, delay: 0 } } ]
"""


def test_rules_before_a_task_are_asked_once_a_visit() -> None:
    driver = run(pipeline(COUNTS), a=[fails(), fails(), Output(data=7)])
    assert driver.state.ctx == {"entries": 1}
    assert driver.data == 7


def test_a_fact_that_ends_a_task_is_known_by_the_kind_of_that_task() -> None:
    text = pipeline(
        "- { name: call, kind: workbook, task: twice }",
        head="workbook: { twice: { tool: [ { name: inner, kind: python, code: x } ] } }",
    )
    driver = Driver(text)
    kinds = []
    while "s#1" in driver.state.runs:
        cursor, seen = driver.state.runs["s#1"].cursor, len(driver.events)
        assert cursor is not None
        driver.move(driver.state.runs["s#1"])
        for fact in driver.facts[seen:]:
            if isinstance(fact, e.TaskStarted | e.TaskDone):
                kinds.append((fact.task, kind_of(driver.program, "s", cursor, fact)))
                cursor = apply(cursor, fact, driver.playbook.dialect, kinds[-1][1])
    assert kinds == [("call", ""), ("inner", ""), ("inner", "python"), ("call", "workbook")]
