"""Timers, child executions and work, as they follow from facts."""

import pytest

from noetl.engine import effects as fx
from noetl.engine import events as e
from noetl.engine.commands import CancelExecution, EndWait, Report
from noetl.engine.output import Error, Output
from noetl.engine.program import Program
from tests.engine.driver import Driver, fails
from tests.engine.logs import only
from tests.engine.texts import Answers, pipeline, playbook, run

CALL = """
- name: call
  kind: playbook
  path: child
  input: { n: "{{ input.n }}" }
  spec:
    policy: { rules: [ { when: "{{ output.status == 'error' }}", then: { do: retry, attempts: 2, delay: 0 } } ] }
"""

CHILD = playbook(
    """
    - step: first
      tool: { name: c, kind: python, code: x, input: { n: "{{ workload.n }}" } }
      next: { arcs: [ { step: last } ] }
    - { step: last, tool: { name: d, kind: python, code: x } }
    """,
    head="workload: { n: 0 }",
)


def caller(tasks: str = CALL, child: str = CHILD, **outputs: object) -> Driver:
    return Driver(pipeline(tasks, step="input: { n: 7 }"), Answers(**outputs), playbooks={"child": child}).run()


def test_a_child_runs_as_an_execution_of_its_own_while_its_caller_holds_no_worker() -> None:
    driver = caller(c=1, d=2)
    assert only(driver.facts, "task") == (
        "task.started s#1.call/1\n"
        "task.waiting s#1.call/1 for x.s#1.call/1\n"
        "task.waiting s#1.call/1 over 2\n"
        "task.done s#1.call/1 2 continue to 1"
    )
    child = driver.children["x.s#1.call/1"]
    assert (child.state.workload, child.data) == ({"n": 7}, 2)
    assert driver.state.output.blocks == {"playbook": {"execution_id": "x.s#1.call/1", "status": "completed"}}


def test_a_child_can_return_the_output_of_a_step() -> None:
    driver = caller(CALL.replace("path: child", "path: child\n  return_step: first"), c=1, d=2)
    assert driver.data == 1


def test_a_step_to_return_that_did_not_run_is_an_error() -> None:
    driver = caller(CALL.replace("path: child", "path: child\n  return_step: nope"), c=1, d=2)
    assert driver.state.error is not None
    assert driver.state.error.kind == "playbook_failed"
    assert "`return_step` names `nope`, which did not run" in driver.state.error.message


def test_a_step_to_return_that_failed_is_an_error_though_the_child_went_on() -> None:
    arc = "arcs: [ { step: last, when: \"{{ event.name == 'step.failed' }}\" } ]"
    child = CHILD.replace("arcs: [ { step: last } ]", arc)
    assert child != CHILD
    driver = caller(CALL.replace("path: child", "path: child\n  return_step: first"), child, c=fails(), d=2)
    assert driver.state.error is not None
    assert "`return_step` names `first`, which failed in x.s#1.call/" in driver.state.error.message


def test_a_policy_retry_starts_a_new_child() -> None:
    driver = caller(c=[fails(), Output(data=1)], d=2)
    assert list(driver.children) == ["x.s#1.call/1", "x.s#1.call/2"]
    assert [child.state.status for child in driver.children.values()] == ["failed", "completed"]
    assert "task.waiting s#1.call/1 over !playbook_failed" in driver.log()


def test_a_child_that_was_cancelled_says_so() -> None:
    driver = Driver(pipeline(CALL, step="input: { n: 7 }"), Answers(), playbooks={"child": CHILD})
    driver.run(1)
    driver.children["x.s#1.call/1"].send(CancelExecution("enough"))
    driver.run(2)
    assert "task.waiting s#1.call/1 over !cancelled" in driver.log()


def test_a_child_that_completes_with_an_error_it_let_pass_is_no_error_to_its_caller() -> None:
    lenient = CHILD.replace(
        "name: d, kind: python, code: x",
        "name: d, kind: python, code: x, spec: { policy: { rules: [ { else: { then: { do: continue } } } ] } }",
    )
    driver = caller(child=lenient, d=fails())
    assert driver.state.status == "completed"
    assert driver.state.output.error is None


def test_a_child_whose_request_is_refused_answers_its_caller() -> None:
    chain = pipeline("- { name: call, kind: playbook, path: child }")
    driver = Driver(chain, playbooks={"child": chain}).run()
    below = driver
    for depth in range(1, 34):
        assert below.state.status == "failed"
        below = next(iter(below.children.values()))
        assert below.state.parent is not None
        assert below.state.parent.depth == depth
    assert "playbook.request.evaluated !budget_exceeded" in below.log()
    assert below.children == {}


def test_a_path_that_names_no_playbook_is_an_error_of_kind_input() -> None:
    driver = run(
        pipeline('- { name: call, kind: playbook, path: "{{ workload.none }}" }', head="workload: { none: null }")
    )
    assert driver.state.error is not None
    assert driver.state.error.kind == "input"
    assert "`path` must name a playbook, and is None" in driver.state.error.message


def test_an_empty_path_names_no_playbook() -> None:
    driver = run(
        pipeline('- { name: call, kind: playbook, path: "{{ workload.none }}" }', head="workload: { none: '' }")
    )
    assert driver.state.error is not None
    assert "`path` must name a playbook, and is ''" in driver.state.error.message


def test_the_version_of_a_child_is_passed_on() -> None:
    driver = caller(CALL.replace("path: child", "path: child\n  version: 1.10"), c=1, d=2)
    child = next(fact for fact in driver.children["x.s#1.call/1"].facts if isinstance(fact, e.ExecutionRequested))
    assert child.version == "1.10"


def test_an_answer_that_comes_twice_is_refused_the_second_time() -> None:
    driver = caller(c=1, d=2)
    again = Driver(pipeline(CALL, step="input: { n: 7 }"), Answers(), playbooks={"child": CHILD})
    again.run(1)
    answer = EndWait("s#1", (), "s#1.call/1", Output(data=1))
    assert again.send(answer) is None
    refused = again.send(answer)
    assert refused is not None
    assert (refused.kind, refused.message) == ("stale", "s#1.call/1 does not wait")
    assert driver.send(answer) is not None


def test_an_answer_to_an_earlier_attempt_does_not_end_the_wait_of_a_later_one() -> None:
    driver = Driver(pipeline(CALL, step="input: { n: 7 }"), Answers(c=fails()), playbooks={"child": CHILD})
    while len(driver.children) < 2:
        driver.step()
    late = driver.send(EndWait("s#1", (), "s#1.call/1", Output(data=1)))
    assert late is not None
    assert late.kind == "stale"
    empty = driver.send(EndWait("s#1", (), "s#1.call/2"))
    assert empty is not None
    assert empty.message == "s#1.call/2 does not wait for that"


def timed() -> Driver:
    """Waits for a child that is to end within 5 s."""
    text = pipeline(CALL.replace("  spec:", "  spec:\n    timeout: 5"), step="input: { n: 7 }")
    return Driver(text, Answers(c=1, d=2), playbooks={"child": CHILD}).run(1)


LATE = EndWait("s#1", (), "s#1.call/1", is_late=True)


def test_a_child_that_takes_too_long_is_cancelled_and_its_call_fails() -> None:
    driver = timed()
    assert driver.timers["s#1:wait"] == (driver.now + 5.0, LATE)
    assert driver.send(LATE) is None
    assert driver.children["x.s#1.call/1"].state.status == "cancelled"
    over = driver.facts[-1]
    assert isinstance(over, e.TaskWaiting)
    assert over.output is not None
    assert over.output.error == Error(
        "timeout", "playbook `child` took longer than 5 s (`spec.timeout`) and was cancelled", retryable=True
    )
    assert over.output.blocks == {"playbook": {"execution_id": "x.s#1.call/1", "status": "cancelled"}}
    driver.run()
    assert (driver.state.status, driver.data) == ("completed", 2)
    assert list(driver.children) == ["x.s#1.call/1", "x.s#1.call/2"]


def test_the_time_of_a_child_that_has_ended_is_not_used_up() -> None:
    driver = timed()
    assert driver.send(EndWait("s#1", (), "s#1.call/1", Output(data=1))) is None
    refused = driver.send(LATE)
    assert refused is not None
    assert refused.message == "s#1.call/1 does not wait"


def test_a_delay_does_not_come_too_late() -> None:
    rule = "{ when: \"{{ output.status == 'error' }}\", then: { do: retry, attempts: 2, delay: 3600 } }"
    task = f"- {{ name: a, kind: python, code: x, spec: {{ policy: {{ rules: [ {rule} ] }} }} }}"
    driver = Driver(pipeline(task), Answers(a=fails())).run(2)
    refused = driver.send(EndWait("s#1", (), "s#1.a/2", is_late=True))
    assert refused is not None
    assert refused.message == "s#1.a/2 does not wait for that"


def test_cancelling_reaches_the_children_of_children() -> None:
    middle = pipeline("- { name: call, kind: playbook, path: child }")
    text = pipeline("- { name: call, kind: playbook, path: middle }")
    driver = Driver(text, playbooks={"middle": middle, "child": CHILD})
    for _ in range(3):
        driver.step()
    inner = driver.children["x.s#1.call/1"].children["x.s#1.call/1.s#1.call/1"]
    assert not inner.state.has_ended
    driver.send(CancelExecution("enough"))
    assert only(driver.facts, "execution", "workflow.f", "playbook.p") == (
        "execution.cancelled enough\n"
        "workflow.finished cancelled !cancelled ends x.s#1.call/1\n"
        "playbook.processed cancelled"
    )
    assert inner.state.status == "cancelled"


LATER = """
- name: a
  kind: python
  code: x
  spec: { policy: { rules: [ { when: "{{ output.status == 'error' }}", then: { do: retry, delay: 3600 } } ] } }
"""


def test_a_long_delay_is_a_durable_timer() -> None:
    driver = run(pipeline(LATER), a=[fails(), Output(data=1)])
    assert only(driver.facts, "task") == (
        "task.started s#1.a/1\n"
        "task.done s#1.a/1 !exception retry to 0\n"
        "task.waiting s#1.a/2 until 3600\n"
        "task.waiting s#1.a/2 over\n"
        "task.started s#1.a/2 again of s#1.a/1\n"
        "task.done s#1.a/2 1 continue to 1"
    )
    assert driver.now == 3600


@pytest.mark.parametrize(("reason", "until"), [("timeout_s", 100.0), ("deadline_s", 100.0)])
def test_a_step_whose_time_is_used_up_fails_though_it_waits(reason: str, until: float) -> None:
    step = (
        f"spec: {{ policy: {{ lifecycle: {{ {reason}: 100 }} }} }}\n"
        "next: { arcs: [ { step: t, when: \"{{ event.name == 'step.failed' }}\" } ] }"
    )
    text = pipeline(LATER, step=step) + "  - { step: t, tool: { kind: noop } }\n"
    driver = run(text, a=fails())
    assert driver.state.status == "completed"
    assert driver.now == until
    assert (
        only(driver.facts, "step.failed", "next")
        == "step.failed s#1 !timeout\nnext.evaluated s#1 [yes]\nnext.evaluated t#1 []"
    )
    assert driver.timers == {}


def test_a_step_that_ends_in_time_leaves_no_timer() -> None:
    driver = run(
        pipeline("- { name: a, kind: noop }", step="spec: { policy: { lifecycle: { timeout_s: 5, deadline_s: 9 } } }")
    )
    assert driver.timers == {}
    assert driver.now == 0


def test_a_step_that_runs_out_of_time_ends_the_child_it_waits_for() -> None:
    text = pipeline(CALL, step="input: { n: 7 }\nspec: { policy: { lifecycle: { deadline_s: 9 } } }")
    driver = Driver(text, playbooks={"child": pipeline(LATER)}, tool=Answers(a=fails())).run()
    assert driver.state.status == "failed"
    assert driver.children["x.s#1.call/1"].state.status == "cancelled"


def test_work_appears_with_a_step_and_goes_with_it() -> None:
    driver = run(pipeline("- { name: a, kind: noop }"))
    found = [effect for fact in driver.facts for effect in fx.effects(driver.program, driver.state, fact, 0.0)]
    assert found == [fx.OfferWork("s#1"), fx.EndWork("s#1"), fx.ClearTimers("s#1"), fx.EndAll()]


def test_the_iterations_of_the_innermost_loops_are_work() -> None:
    text = pipeline(
        "- { name: a, kind: noop }",
        step="""
        loop:
          in: "{{ [[1, 2], []] }}"
          iterator: row
          loop: { in: "{{ iter.row }}", iterator: cell, spec: { mode: parallel, max_in_flight: 5 } }
        """,
    )
    driver = run(text)
    found = [effect for fact in driver.facts for effect in fx.effects(driver.program, driver.state, fact, 0.0)]
    assert [effect for effect in found if isinstance(effect, fx.OfferWork)] == [fx.OfferWork("s#1", (0,), 2, 5)]
    assert fx.EndWork("s#1", (0,)) in found


def offers(text: str) -> list[fx.OfferWork]:
    driver = run(text)
    found = [effect for fact in driver.facts for effect in fx.effects(driver.program, driver.state, fact, 0.0)]
    return [effect for effect in found if isinstance(effect, fx.OfferWork)]


PLAIN = "- { name: a, kind: noop }"
OWN = "- { name: b, kind: noop, spec: { pool: own } }"


@pytest.mark.parametrize(
    ("head", "step", "tasks", "pool"),
    [
        ("", "", PLAIN, None),
        ("executor: { spec: { pool: big } }", "", PLAIN, "big"),
        ("executor: { spec: { pool: big } }", "spec: { pool: gpu }", PLAIN, "gpu"),
        ("executor: { spec: { noop: { pool: idle } } }", "", PLAIN, "idle"),
        ("", "", OWN, "own"),
        ("", "", f"{PLAIN}\n{OWN}", "own"),
        ("", "spec: { pool: gpu }", f"{PLAIN}\n{OWN}", "gpu"),
    ],
)
def test_work_names_the_pool_that_should_run_it(head: str, step: str, tasks: str, pool: str | None) -> None:
    assert offers(pipeline(tasks, step=step, head=head)) == [fx.OfferWork("s#1", pool=pool)]


def test_where_there_is_one_worker_no_pools_are_told_apart() -> None:
    program = run(pipeline(PLAIN, step="spec: { pool: gpu }")).program
    assert fx.pool_of(program, "s") == "gpu"
    assert fx.pool_of(Program(program.playbook, has_pools=False), "s") is None


LOCAL = ", policy: { exec: local }"
SPREAD = ", policy: { exec: distributed }"


@pytest.mark.parametrize(
    ("profile", "outer", "inner", "local"),
    [
        ("", "", "", None),
        ("", SPREAD, SPREAD, None),
        ("", LOCAL, "", ()),
        ("", LOCAL, LOCAL, ()),
        ("", "", LOCAL, (0,)),
        ("", SPREAD, LOCAL, (0,)),
        ("", LOCAL, SPREAD, None),
        ("executor: { profile: local }", "", "", ()),
        ("executor: { profile: local }", SPREAD, "", None),
        ("executor: { profile: local }", SPREAD, LOCAL, (0,)),
        ("executor: { profile: distributed }", "", LOCAL, (0,)),
    ],
)
def test_work_of_a_loop_says_which_loop_stays_on_one_worker(
    profile: str, outer: str, inner: str, local: e.Path | None
) -> None:
    step = f"""
    loop:
      in: "{{{{ [[1, 2]] }}}}"
      iterator: row
      spec: {{ mode: sequential {outer} }}
      loop: {{ in: "{{{{ iter.row }}}}", iterator: cell, spec: {{ mode: sequential, pool: gpu {inner} }} }}
    """
    expected = fx.OfferWork("s#1", (0,), 2, 1, pool="gpu", local=local)
    assert offers(pipeline("- { name: a, kind: noop }", step=step, head=profile)) == [expected]


def test_a_wait_that_is_over_is_work_again() -> None:
    driver = Driver(pipeline(LATER), Answers(a=fails()))
    over = e.TaskWaiting("s#1", (), "s#1.a/2", is_over=True)
    assert fx.effects(driver.program, driver.state, over, 0.0) == [fx.OfferWork("s#1")]
    pooled = Driver(pipeline(LATER, step="spec: { pool: gpu }"), Answers(a=fails()))
    assert fx.effects(pooled.program, pooled.state, over, 0.0) == [fx.OfferWork("s#1", pool="gpu")]


def test_a_parked_iteration_that_the_server_ends_takes_its_timers_and_its_child_with_it() -> None:
    driver = Driver(pipeline(LATER), Answers(a=fails()))
    failed = e.IterationFailed("s#1", (3,), fails(), by_server=True, children=("x.c",))
    assert fx.effects(driver.program, driver.state, failed, 0.0) == [
        fx.EndWork("s#1", (3,)),
        fx.ClearTimers("s#1", (3,)),
        fx.CancelChild("x.c"),
    ]


def test_a_report_after_the_end_is_refused_and_changes_nothing() -> None:
    driver = run(pipeline("- { name: a, kind: noop }"))
    before = len(driver.events)
    refused = driver.send(Report("s#1", (e.StepStarted("s#1"),)))
    assert refused is not None
    assert (refused.kind, refused.message) == ("ended", "execution x has ended: completed")
    assert len(driver.events) == before


FAST = """
loop:
  in: "{{ [0, 1] }}"
  iterator: row
  spec: { mode: parallel }
  loop: { in: "{{ [0, 1, 2, 3] }}", iterator: cell, spec: { mode: parallel, max_in_flight: 3 } }
"""


def test_a_failure_stops_the_work_of_all_loops_around_it_once() -> None:
    text = pipeline(LATER.replace("output.status == 'error'", "output.error.kind == 'later'"), step=FAST)
    text = text.replace("delay: 3600 } }", "delay: 3600 } }, { else: { then: { do: fail } } }")
    driver = Driver(text, Answers(a=[fails("later"), fails("later"), fails("never")]))
    for path in ((0, 0), (0, 0), (0, 0), (0, 1), (0, 1), (0, 1), (1, 0), (0, 2), (0, 2)):
        driver.move(driver.state.runs["s#1"], path)
    before = len(driver.facts)
    driver.move(driver.state.runs["s#1"], (0, 2))
    found = [
        effect
        for fact in driver.facts[before:]
        for effect in fx.effects(driver.program, driver.state, fact, 0.0)
        if isinstance(effect, fx.StopWork)
    ]
    assert only(driver.facts[before:], "loop.iteration") == (
        "loop.iteration.failed s#1[0,2] !never\n"
        "loop.iteration.failed s#1[0,0] !cancelled\n"
        "loop.iteration.failed s#1[0,1] !cancelled\n"
        "loop.iteration.failed s#1[0] !never"
    )
    assert found == [fx.StopWork("s#1", (1,), (0,))] * 2
