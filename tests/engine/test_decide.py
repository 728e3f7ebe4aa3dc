"""Commands to events, from the request to the end."""

import pytest

from noetl.engine import events as e
from noetl.engine.commands import CancelExecution, EndWait, ExpireStep, FailPoison, Rejection, Report, RequestExecution
from noetl.engine.decide import DEPTH_MAX, decide
from noetl.engine.output import Output
from noetl.engine.state import empty
from tests.engine.driver import Driver, as_json, fails
from tests.engine.logs import compact, only
from tests.engine.texts import Answers, pipeline, playbook, run

ONE = "- { name: a, kind: python, code: x }"
LOOP = 'loop: { in: "{{ [1, 2, 3] }}", iterator: item, spec: { mode: parallel, max_in_flight: 2 } }'


def rejected(driver: Driver, command: object) -> str:
    before = as_json(driver.state)
    answer = driver.send(command)  # type: ignore[arg-type]
    assert isinstance(answer, Rejection)
    assert as_json(driver.state) == before
    return answer.kind


def test_a_request_is_evaluated_and_the_first_step_is_scheduled() -> None:
    driver = Driver(pipeline(ONE, head="workload: { a: { x: 1, y: [1] }, b: 1 }"), workload={"a": {"y": [2]}, "c": 3})
    assert compact(driver.facts) == (
        "playbook.execution.requested demo\nplaybook.request.evaluated\nworkflow.started s\nstep.scheduled s#1"
    )
    assert driver.state.workload == {"a": {"x": 1, "y": [2]}, "b": 1, "c": 3}
    assert driver.state.status == "running"


def test_the_entry_step_may_be_named() -> None:
    text = playbook(
        """
        - { step: a, tool: { kind: noop } }
        - { step: b, tool: { kind: noop } }
        """,
        head="executor: { spec: { entry_step: b } }",
    )
    assert "workflow.started b\nstep.scheduled b#1" in Driver(text).log()


def test_a_second_request_is_refused() -> None:
    assert rejected(Driver(pipeline(ONE)), RequestExecution("demo", "")) == "stale"


@pytest.mark.parametrize("command", [CancelExecution(), Report("s#1", ()), ExpireStep("s#1", "timeout")])
def test_an_execution_that_was_never_requested_takes_no_command(command: CancelExecution | Report | ExpireStep) -> None:
    program = Driver(pipeline(ONE)).program
    answer = decide(program, empty("y"), command)
    assert isinstance(answer, Rejection)
    assert (answer.kind, answer.message) == ("unknown", "there is no execution y")


def test_missing_keychain_entries_fail_the_request_with_all_their_names() -> None:
    text = pipeline(ONE, head="keychain: [ { name: k, kind: env, var: K }, { name: l, kind: env, var: L } ]")
    driver = Driver(text, request=("x", RequestExecution("demo", "", missing=("l", "k"))))
    assert compact(driver.facts) == (
        "playbook.execution.requested demo\n"
        "playbook.request.evaluated !keychain\n"
        "workflow.finished failed !keychain\n"
        "playbook.processed failed"
    )
    assert driver.state.error is not None
    assert driver.state.error.message == "keychain entries not found: k, l"
    assert driver.state.error.details == {"missing": ["k", "l"]}
    evaluated = driver.facts[1]
    assert isinstance(evaluated, e.RequestEvaluated)
    assert list(evaluated.keychain) == ["k", "l"]


def test_children_stand_only_so_deep() -> None:
    parent = e.Parent("p", "s#1", (), "s#1.call/1", DEPTH_MAX + 1)
    driver = Driver(pipeline(ONE), request=("x", RequestExecution("demo", "", parent=parent)))
    assert driver.state.error is not None
    assert driver.state.error.kind == "budget_exceeded"


def test_a_command_for_a_run_that_is_not_live_is_refused() -> None:
    driver = Driver(pipeline(ONE))
    assert rejected(driver, ExpireStep("s#2", "timeout")) == "unknown"
    assert rejected(driver, EndWait("s#1", (), "s#1.a/1")) == "stale"
    assert rejected(driver, EndWait("s#1", (), "")) == "stale"
    assert rejected(driver, EndWait("s#1", (4,), "s#1[4].a/1")) == "stale"


@pytest.mark.parametrize("moves", range(8))
def test_an_execution_can_be_cancelled_at_any_point_and_nothing_comes_after(moves: int) -> None:
    text = pipeline(ONE, step=LOOP + "\nnext: { arcs: [ { step: t } ] }") + "  - { step: t, tool: { kind: noop } }\n"
    driver = Driver(text).run(moves)
    assert driver.send(CancelExecution("enough")) is None
    assert compact(driver.facts[-3:]) == (
        "execution.cancelled enough\nworkflow.finished cancelled !cancelled\nplaybook.processed cancelled"
    )
    assert (driver.state.runs, driver.state.waiting) == ({}, [])
    assert rejected(driver, CancelExecution()) == "ended"
    assert rejected(driver, Report("s#1", (e.StepStarted("s#1"),))) == "ended"
    assert rejected(driver, ExpireStep("s#1", "deadline")) == "ended"
    driver.check()


def test_cancelling_emits_no_boundary_events() -> None:
    driver = Driver(pipeline(ONE))
    driver.send(CancelExecution())
    assert only(driver.facts, "step.d", "step.f", "next") == ""
    assert driver.state.error is not None
    assert driver.state.error.message == "the execution was cancelled"


def test_a_step_that_has_no_time_left_fails_by_the_server() -> None:
    driver = Driver(pipeline(ONE))
    driver.send(ExpireStep("s#1", "deadline"))
    failed = next(fact for fact in driver.facts if isinstance(fact, e.StepFailed))
    assert failed.by_server
    assert failed.output.error is not None
    assert (failed.output.error.kind, failed.output.error.message) == ("timeout", "step `s` used up its deadline")


def test_poison_fails_a_step() -> None:
    driver = Driver(pipeline(ONE))
    driver.send(FailPoison("s#1", (), 5))
    assert driver.state.error is not None
    assert driver.state.error.kind == "poison"
    assert "delivered 5 times" in driver.state.error.message


def test_poison_fails_one_iteration_of_a_loop_whether_its_start_was_told_or_not() -> None:
    step = LOOP + "\nspec: { policy: { failure: { mode: best_effort } } }"
    driver = Driver(pipeline(ONE, step=step))
    driver.move(driver.state.runs["s#1"], (0,))
    driver.send(FailPoison("s#1", (0,), 5))
    driver.send(FailPoison("s#1", (1,), 5))
    assert rejected(driver, FailPoison("s#1", (0,), 5)) == "stale"
    assert rejected(driver, FailPoison("s#1", (9,), 5)) == "stale"
    assert rejected(driver, FailPoison("s#1", (0, 0), 5)) == "stale"
    driver.run()
    assert only(driver.facts, "loop.iteration") == (
        "loop.iteration.started s#1[0]\n"
        "loop.iteration.failed s#1[0] !poison\n"
        "loop.iteration.started s#1[1]\n"
        "loop.iteration.failed s#1[1] !poison\n"
        "loop.iteration.started s#1[2]\n"
        "loop.iteration.done s#1[2] -"
    )
    assert driver.state.status == "completed"


def test_poison_that_never_started_is_failed_only_where_there_is_room_for_it() -> None:
    step = "loop: { in: [1, 2], iterator: row, spec: { mode: parallel, max_in_flight: 1 } }"
    driver = Driver(pipeline(ONE, step=step + "\nspec: { policy: { failure: { mode: best_effort } } }"))
    driver.move(driver.state.runs["s#1"], (0,))
    assert rejected(driver, FailPoison("s#1", (1,), 5)) == "stale"
    driver.send(FailPoison("s#1", (0,), 5))
    driver.send(FailPoison("s#1", (1,), 5))
    assert only(driver.facts, "loop.iteration.f") == (
        "loop.iteration.failed s#1[0] !poison\nloop.iteration.failed s#1[1] !poison"
    )


def test_in_nested_loops_only_what_workers_run_can_be_poison() -> None:
    step = """
    loop: { in: "{{ [[1], [2, 3]] }}", iterator: row, loop: { in: "{{ iter.row }}", iterator: item } }
    spec: { policy: { failure: { mode: best_effort } } }
    """
    driver = Driver(pipeline(ONE, step=step))
    assert rejected(driver, FailPoison("s#1", (0,), 5)) == "stale"
    driver.send(FailPoison("s#1", (0, 0), 5))
    assert rejected(driver, FailPoison("s#1", (0, 0), 5)) == "stale"
    driver.run()
    assert "loop.iteration.failed s#1[0,0] !poison" in driver.log()
    assert only(driver.facts, "workflow.f") == "workflow.finished completed [[null],[null,null]]"


def test_what_waits_or_could_not_start_is_no_poison() -> None:
    tasks = """
    - name: a
      kind: python
      code: x
      spec:
        policy: { rules: [ { when: "{{ output.error.kind == 'later' }}", then: { do: retry, delay: 99 } } ] }
    """
    driver = Driver(pipeline(tasks, step=LOOP), Answers(a=[fails("later"), fails("never")]))
    for path in ((0,), (0,), (0,)):
        driver.move(driver.state.runs["s#1"], path)
    assert rejected(driver, FailPoison("s#1", (), 5)) == "stale"
    assert rejected(driver, FailPoison("s#1", (0,), 5)) == "stale"
    driver.move(driver.state.runs["s#1"], (1,))
    driver.send(FailPoison("s#1", (1,), 5))
    assert driver.state.status == "failed"
    driver = Driver(pipeline(tasks), Answers(a=fails("later")))
    for _ in range(2):
        driver.move(driver.state.runs["s#1"])
    assert driver.state.runs["s#1"].is_parked
    assert rejected(driver, FailPoison("s#1", (), 5)) == "stale"
    stopping = Driver(pipeline(ONE, step=LOOP), Answers(a=fails()))
    for path in ((0,), (1,), (0,), (0,)):
        stopping.move(stopping.state.runs["s#1"], path)
    assert rejected(stopping, FailPoison("s#1", (2,), 5)) == "stale"


def test_ctx_as_a_whole_is_bounded() -> None:
    text = pipeline(
        '- { name: a, kind: noop, set: { ctx.x: "{{ (ctx.x | default([])) + [_attempt] }}" } }',
        step='next: { arcs: [ { step: s, when: "{{ ctx.x | length < 100 }}" } ] }',
        head="executor: { spec: { limits: { ctx_bytes_max: 40 } } }",
    )
    driver = run(text)
    assert driver.state.error is not None
    assert driver.state.error.kind == "budget_exceeded"
    assert "more than its `limits.ctx_bytes_max` of 40" in driver.state.error.message
    assert only(driver.facts, "step.sch").splitlines()[-1] == "step.scheduled s#17"


def test_ctx_that_is_written_often_and_stays_small_is_within_its_bound() -> None:
    text = pipeline(
        '- { name: a, kind: noop, set: { ctx.x: "{{ (ctx.x | default(0)) + 1 }}" } }',
        step='next: { arcs: [ { step: s, when: "{{ ctx.x < 50 }}" } ] }',
        head="executor: { spec: { limits: { ctx_bytes_max: 40 } } }",
    )
    assert run(text).state.ctx == {"x": 50}


def test_steps_that_go_in_circles_without_work_fail_the_execution() -> None:
    text = playbook("- { step: a, next: { arcs: [ { step: b } ] } }\n- { step: b, next: { arcs: [ { step: a } ] } }")
    driver = Driver(text)
    assert driver.state.error is not None
    assert driver.state.error.kind == "budget_exceeded"
    assert "they go in circles" in driver.state.error.message


def test_the_same_command_on_the_same_state_gives_the_same_facts() -> None:
    driver = Driver(pipeline(ONE)).run(1)
    command = ExpireStep("s#1", "timeout")
    assert decide(driver.program, driver.state, command) == decide(driver.program, driver.state, command)


def test_a_lost_worker_s_run_is_made_again_under_the_same_id() -> None:
    driver = Driver(pipeline(ONE, step="next: { arcs: [] }"), Answers(a=Output(data=1)))
    assert (
        driver.send(Report("s#1", (e.StepStarted("s#1"), e.TaskStarted("s#1", (), "s#1.a/1", "a", 1, "s#1.a/1"))))
        is None
    )
    driver.run()
    assert only(driver.facts, "task") == "task.started s#1.a/1\ntask.done s#1.a/1 1 continue to 1"


def test_a_block_whose_call_was_lost_is_an_error_that_may_be_retried() -> None:
    text = pipeline("- { name: a, kind: workbook, task: b }", head="workbook: { b: { tool: { kind: noop } } }")
    driver = Driver(text)
    assert (
        driver.send(Report("s#1", (e.StepStarted("s#1"), e.TaskStarted("s#1", (), "s#1.a/1", "a", 1, "s#1.a/1"))))
        is None
    )
    driver.run()
    assert driver.state.error is not None
    assert (driver.state.error.kind, driver.state.error.retryable) == ("crash", True)


def test_another_branchs_later_write_wins_and_a_pipeline_sees_its_own() -> None:
    text = playbook(
        """
        - { step: a, next: { spec: { mode: inclusive }, arcs: [ { step: b }, { step: c } ] } }
        - step: b
          tool:
            - { name: b1, kind: noop, set: { ctx.x: b } }
            - { name: b2, kind: python, code: x, input: { x: "{{ ctx.x }}" } }
        - { step: c, tool: { name: c, kind: noop, set: { ctx.x: c } } }
        """
    )
    answers = Answers()
    driver = Driver(text, answers)
    driver.move(driver.state.runs["b#1"])
    driver.move(driver.state.runs["c#1"])
    driver.run()
    assert driver.state.ctx == {"x": "c"}
    assert answers.given("b2") == [{"x": "c"}]
