"""Workbook blocks called from a pipeline."""

from noetl.engine.calls import CALLS_DEPTH_MAX
from noetl.engine.events import TaskStarted
from noetl.engine.output import Output, Status
from tests.engine.driver import Driver, fails
from tests.engine.logs import only
from tests.engine.texts import Answers, pipeline, run

BLOCK = """
workbook:
  fetch:
    input: { page: 1, size: 10, by: "{{ input.who | default('nobody') }}" }
    tool:
      - { name: get, kind: python, code: x, set: { step.got: "{{ output.data }}" } }
      - { name: keep, kind: noop, set: { ctx.kept: "{{ step.got }}" } }
      - { name: done, kind: python, code: x, input: { prev: "{{ _prev }}", kept: "{{ ctx.kept }}" } }
"""

CALL = """
- { name: get, kind: python, code: x }
- { name: call, kind: workbook, task: fetch, input: { size: 20 } }
- name: after
  kind: python
  code: x
  input: { own: "{{ get.data }}", got: "{{ call.data }}", kept: "{{ ctx.kept }}" }
"""


def test_a_block_has_names_and_step_of_its_own_and_shares_ctx() -> None:
    answers = Answers(get=[Output(data="mine"), Output(data="its")], done="end")
    driver = Driver(pipeline(CALL, head=BLOCK, step="input: { who: me }"), answers).run()
    assert only(driver.facts, "task") == (
        "task.started s#1.get/1\n"
        'task.done s#1.get/1 "mine" continue to 1\n'
        "task.started s#1.call/1 calls fetch\n"
        "task.started s#1.call/1.get/1\n"
        'task.done s#1.call/1.get/1 "its" continue to 1 step{"got":"its"}\n'
        "task.started s#1.call/1.keep/1\n"
        'task.done s#1.call/1.keep/1 - continue to 2 ctx{"kept":"its"}\n'
        "task.started s#1.call/1.done/1\n"
        'task.done s#1.call/1.done/1 "end" continue to 3\n'
        'task.done s#1.call/1 "end" continue to 2\n'
        "task.started s#1.after/1\n"
        "task.done s#1.after/1 - continue to 3"
    )
    assert only(driver.facts, "ctx") == 'ctx.patched {"kept":"its"} by workbook/fetch/tool/keep/set'
    assert answers.given("after") == [{"who": "me", "own": "mine", "got": "end", "kept": "its"}]


def test_the_input_of_a_block_is_its_defaults_under_the_steps_input_under_that_of_the_call() -> None:
    answers = Answers()
    Driver(pipeline(CALL, head=BLOCK, step="input: { who: me, page: 2, size: 5 }"), answers).run()
    given = {"page": 2, "size": 20, "by": "me", "who": "me"}
    assert answers.given("done") == [given | {"prev": None, "kept": None}]


def test_the_rules_and_sets_of_a_call_see_its_own_input_and_not_the_defaults_of_the_block() -> None:
    seen = "[input.page | default('none'), input.size, input.who]"
    call = f"""
    - name: call
      kind: workbook
      task: fetch
      input: {{ size: 20 }}
      set: {{ ctx.seen: "{{{{ {seen} }}}}" }}
    """
    driver = run(pipeline(call, head=BLOCK, step="input: { who: me, size: 5 }"))
    assert driver.state.ctx["seen"] == ["none", 20, "me"]


def test_a_failure_inside_a_block_is_the_error_of_its_call_and_goes_through_the_callers_rules() -> None:
    text = pipeline(
        """
        - name: call
          kind: workbook
          task: fetch
          input: { size: 10 }
          spec:
            policy:
              rules:
                - when: "{{ output.error.kind == 'crash' }}"
                  then: { do: retry, attempts: 2, delay: 5, set: { ctx.tried: "{{ input.size }}" } }
        """,
        head=BLOCK,
    )
    driver = run(text, get=fails("crash"))
    assert only(driver.facts, "task") == (
        "task.started s#1.call/1 calls fetch\n"
        "task.started s#1.call/1.get/1\n"
        "task.done s#1.call/1.get/1 !crash fail\n"
        'task.done s#1.call/1 !crash retry to 0 ctx{"tried":10}\n'
        "task.started s#1.call/2 again of s#1.call/1 calls fetch\n"
        "task.started s#1.call/2.get/1\n"
        "task.done s#1.call/2.get/1 !crash fail\n"
        'task.done s#1.call/2 !crash fail ctx{"tried":10}'
    )
    assert driver.now == 5


def test_a_block_that_ends_well_is_no_error_to_its_caller_whatever_its_last_task_met_with() -> None:
    head = """
    workbook:
      try:
        tool: { name: t, kind: python, code: x, spec: { policy: { rules: [ { else: { then: { do: continue } } } ] } } }
    """
    driver = run(pipeline("- { name: call, kind: workbook, task: try }", head=head), t=fails())
    assert driver.state.status == "completed"
    assert driver.state.output.status is Status.OK


def test_a_call_whose_input_cannot_be_bound_goes_through_the_rules() -> None:
    text = pipeline(
        """
        - name: call
          kind: workbook
          task: fetch
          input: { page: "{{ ctx.nothing }}" }
          spec: { policy: { rules: [ { when: "{{ output.error.kind == 'template' }}", then: { do: break } } ] } }
        """,
        head=BLOCK,
    )
    driver = run(text)
    assert only(driver.facts, "task") == "task.started s#1.call/1\ntask.done s#1.call/1 !template break"
    assert driver.state.status == "completed"


CIRCLE = """
workbook:
  ping:
    tool: { name: there, kind: workbook, task: pong }
  pong:
    loop: { in: [1], iterator: ball }
    tool: { name: back, kind: workbook, task: ping }
"""


def test_blocks_that_call_each_other_in_a_circle_end_at_a_bound_that_names_the_circle() -> None:
    driver = run(pipeline("- { name: call, kind: workbook, task: ping }", head=CIRCLE))
    started = [fact for fact in driver.facts if isinstance(fact, TaskStarted)]
    error = driver.state.error
    assert [fact.call is not None for fact in started] == [True] * CALLS_DEPTH_MAX + [False]
    assert error is not None
    assert (error.kind, error.retryable) == ("budget_exceeded", False)
    assert error.message.endswith(
        "calls of workbook blocks may be nested 32 deep, and here they are: ping → pong → ping"
    )
    assert isinstance(error.details, dict)
    assert error.details["path"] == "workbook/pong/tool/back/task"


def test_a_call_that_is_too_deep_goes_through_the_rules() -> None:
    rules = "{ policy: { rules: [ { when: \"{{ output.error.kind == 'budget_exceeded' }}\", then: { do: break } } ] } }"
    head = f"workbook: {{ again: {{ tool: {{ name: t, kind: workbook, task: again, spec: {rules} }} }} }}"
    driver = run(pipeline("- { name: call, kind: workbook, task: again }", head=head))
    assert driver.state.status == "completed"
    assert sum(isinstance(fact, TaskStarted) for fact in driver.facts) == CALLS_DEPTH_MAX + 1


def test_a_long_chain_without_a_circle_is_named_whole() -> None:
    blocks = [f"  b{n}: {{ tool: {{ kind: workbook, task: b{n + 1} }} }}" for n in range(CALLS_DEPTH_MAX)]
    head = "\n".join(["workbook:", *blocks, f"  b{CALLS_DEPTH_MAX}: {{ tool: {{ kind: noop }} }}"])
    deep = run(pipeline("- { name: call, kind: workbook, task: b0 }", head=head)).state
    within = run(pipeline("- { name: call, kind: workbook, task: b1 }", head=head)).state
    assert (deep.status, within.status) == ("failed", "completed")
    assert deep.error is not None
    assert " → ".join(f"b{n}" for n in range(CALLS_DEPTH_MAX + 1)) in deep.error.message


LOOPED = """
workbook:
  each:
    loop: { in: "{{ input.rows }}", iterator: row }
    tool:
      - name: count
        kind: noop
        set: { step.n: "{{ (step.n | default(0)) + 1 }}", iter.twice: "{{ iter.row * 2 }}" }
      - name: t
        kind: python
        code: x
        input: { row: "{{ row }}", i: "{{ iter.index }}/{{ iter.count }}", n: "{{ step.n }}", two: "{{ iter.twice }}" }
"""


def test_a_looped_block_runs_its_tasks_for_each_element_and_carries_its_step_on() -> None:
    answers = Answers(t=[Output(data="a"), Output(data="b")])
    text = pipeline("- { name: call, kind: workbook, task: each, input: { rows: [5, 6] } }", head=LOOPED)
    driver = Driver(text, answers).run()
    assert driver.data == ["a", "b"]
    assert only(driver.facts, "task.started", "loop") == (
        "task.started s#1.call/1 calls each\n"
        "loop.iteration.started of s#1.call/1\n"
        "task.started s#1.call/1[0].count/1\n"
        "task.started s#1.call/1[0].t/1\n"
        'loop.iteration.done of s#1.call/1 "a"\n'
        "loop.iteration.started of s#1.call/1\n"
        "task.started s#1.call/1[1].count/1\n"
        "task.started s#1.call/1[1].t/1\n"
        'loop.iteration.done of s#1.call/1 "b"'
    )
    rows = {"rows": [5, 6]}
    assert answers.given("t") == [
        rows | {"row": 5, "i": "0/2", "n": 1, "two": 10},
        rows | {"row": 6, "i": "1/2", "n": 2, "two": 12},
    ]


def test_the_iterations_of_a_looped_block_have_idempotency_keys_of_their_own() -> None:
    text = pipeline("- { name: call, kind: workbook, task: each, input: { rows: [5, 6] } }", head=LOOPED)
    started = [fact.key for fact in run(text).facts if hasattr(fact, "key")]
    assert len(started) == len(set(started)) == 5


def test_a_looped_block_stops_at_its_first_failure() -> None:
    text = pipeline("- { name: call, kind: workbook, task: each, input: { rows: [5, 6, 7] } }", head=LOOPED)
    driver = run(text, t=[Output(), fails("crash")])
    assert only(driver.facts, "loop", "step.failed") == (
        "loop.iteration.started of s#1.call/1\n"
        "loop.iteration.done of s#1.call/1 -\n"
        "loop.iteration.started of s#1.call/1\n"
        "loop.iteration.failed of s#1.call/1 !crash\n"
        "step.failed s#1 !crash"
    )
    assert driver.state.output.loop is not None
    assert (driver.state.output.loop.succeeded, driver.state.output.loop.skipped) == (1, 1)


def test_a_looped_block_over_nothing_is_done_at_once() -> None:
    text = pipeline("- { name: call, kind: workbook, task: each, input: { rows: [] } }", head=LOOPED)
    assert run(text).data == []


def test_a_looped_block_over_what_is_no_list_fails_its_call() -> None:
    text = pipeline("- { name: call, kind: workbook, task: each, input: { rows: 5 } }", head=LOOPED)
    driver = run(text)
    assert driver.state.error is not None
    assert driver.state.error.kind == "loop_collection"
    assert "`loop.in` must give a list, and gave a number" in driver.state.error.message


NESTED = """
workbook:
  each:
    loop:
      in: "{{ input.rows }}"
      iterator: row
      loop: { in: "{{ iter.row.parts }}", iterator: part }
    tool:
      - name: t
        kind: python
        code: x
        input: { part: "{{ part }}{{ row.id }}", up: "{{ iter.parent.row.id }}", top: "{{ iter.parent.parent.item }}" }
"""

NESTED_CALL = """
- name: call
  kind: workbook
  task: each
  input: { rows: [ { id: 1, parts: [a, b] }, { id: 2, parts: [] }, { id: 3, parts: [c] } ] }
"""


def test_a_nested_loop_of_a_block_gives_a_list_of_lists_and_sees_the_caller_as_its_outermost_parent() -> None:
    answers = Answers(t=[Output(data=1), Output(data=2), Output(data=3)])
    looped = "loop: { in: \"{{ ['it'] }}\", iterator: item }"
    driver = Driver(pipeline(NESTED_CALL, head=NESTED, step=looped), answers).run()
    assert driver.data == [[[1, 2], [], [3]]]
    assert [given["part"] for given in answers.given("t")] == ["a1", "b1", "c3"]
    assert [given["up"] for given in answers.given("t")] == [1, 1, 3]
    assert {given["top"] for given in answers.given("t")} == {"it"}
    assert only(driver.facts, "task.started").splitlines()[1:] == [
        "task.started s#1[0].call/1[0,0].t/1",
        "task.started s#1[0].call/1[0,1].t/1",
        "task.started s#1[0].call/1[2,0].t/1",
    ]


def test_an_inner_loop_of_a_block_that_fails_fails_the_outer_one() -> None:
    looped = "loop: { in: \"{{ ['it'] }}\", iterator: item }"
    driver = run(pipeline(NESTED_CALL, head=NESTED, step=looped), t=[Output(), fails("crash")])
    assert only(driver.facts, "loop.iteration.failed") == (
        "loop.iteration.failed of s#1[0].call/1 !crash\n"
        "loop.iteration.failed of s#1[0].call/1 !crash\n"
        "loop.iteration.failed s#1[0] !crash"
    )


def test_an_inner_collection_of_a_block_that_is_no_list_fails_the_iteration_around_it() -> None:
    looped = "loop: { in: \"{{ ['it'] }}\", iterator: item }"
    text = pipeline(NESTED_CALL.replace("parts: []", "parts: 7"), head=NESTED, step=looped)
    driver = run(text)
    assert driver.state.error is not None
    assert driver.state.error.kind == "loop_collection"
    assert only(driver.facts, "loop.iteration.failed") == (
        "loop.iteration.failed of s#1[0].call/1 !loop_collection\nloop.iteration.failed s#1[0] !loop_collection"
    )


def test_blocks_may_call_blocks() -> None:
    head = """
    workbook:
      outer: { tool: [ { name: call, kind: workbook, task: inner, input: { y: "{{ input.x + 1 }}" } } ] }
      inner: { tool: [ { name: t, kind: python, code: x } ] }
    """
    answers = Answers(t=9)
    driver = Driver(
        pipeline("- { name: call, kind: workbook, task: outer, input: { x: 1 } }", head=head), answers
    ).run()
    assert driver.data == 9
    assert answers.given("t") == [{"x": 1, "y": 2}]
    assert "task.done s#1.call/1.call/1.t/1 9 continue to 1" in driver.log()


def test_a_block_in_a_loop_without_one_of_its_own_has_no_iter() -> None:
    head = """
    workbook:
      plain: { tool: [ { name: t, kind: python, code: x, input: { has: "{{ ctx.x is defined }}" } } ] }
    """
    text = pipeline(
        """
        - { name: call, kind: workbook, task: plain }
        """,
        head=head,
        step='loop: { in: "{{ [1] }}", iterator: item }',
    )
    answers = Answers(t=1)
    assert Driver(text, answers).run().data == [1]
    assert answers.given("t") == [{"has": False}]


def test_a_block_that_uses_up_the_budget_fails_its_call() -> None:
    head = """
    workbook:
      plain:
        tool:
          - { name: t, kind: noop, spec: { policy: { rules: [ { else: { then: { do: jump, to: t } } } ] } } }
    """
    text = pipeline(
        "- { name: call, kind: workbook, task: plain }", head=head, step="spec: { limits: { task_runs_max: 4 } }"
    )
    driver = run(text)
    assert driver.state.error is not None
    assert driver.state.error.kind == "budget_exceeded"
    assert len(only(driver.facts, "task.started").splitlines()) == 4
