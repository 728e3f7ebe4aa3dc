"""Reports: taken whole or refused whole."""

from collections.abc import Callable

import msgspec
import pytest

from noetl.engine import events as e
from noetl.engine.commands import Rejection, Report, Reported, RequestExecution
from noetl.engine.output import Output
from noetl.playbook.model import Directive
from tests.engine.driver import Driver, as_json, fails
from tests.engine.logs import only
from tests.engine.texts import Answers, pipeline

TWO = "- { name: a, kind: python, code: x, set: { ctx.a: 1 } }\n- { name: b, kind: python, code: x }"
LOOP = 'loop: { in: "{{ [1, 2, 3] }}", iterator: item, spec: { mode: %s, max_in_flight: 2 } }'


def started(
    number: int = 1, task: str = "a", attempt: int = 1, path: e.Path = (), step_run_id: str = "s#1"
) -> e.TaskStarted:
    where = f"{step_run_id}[{','.join(map(str, path))}]" if path else step_run_id
    return e.TaskStarted(step_run_id, path, f"{where}.{task}/{number}", task, attempt, f"{where}.{task}/{number}")


def done(next_: int | None, number: int = 1, task: str = "a", attempt: int = 1, path: e.Path = ()) -> e.TaskDone:
    where = f"s#1[{','.join(map(str, path))}]" if path else "s#1"
    directive = Directive.CONTINUE if next_ is not None else Directive.BREAK
    return e.TaskDone("s#1", path, f"{where}.{task}/{number}", task, attempt, Output(data=number), directive, next_)


def refused(driver: Driver, *facts: Reported, step_run_id: str = "s#1") -> bool:
    """Whether a report is refused; then nothing has changed."""
    before, events = as_json(driver.state), len(driver.events)
    answer = driver.send(Report(step_run_id, facts))
    if not isinstance(answer, Rejection):
        return False
    assert answer.kind in ("stale", "unknown")
    assert (as_json(driver.state), len(driver.events)) == (before, events)
    return True


def begun(text: str, *facts: Reported) -> Driver:
    driver = Driver(text)
    assert driver.send(Report("s#1", (e.StepStarted("s#1"), *facts))) is None
    return driver


def test_a_report_carries_a_step_from_start_to_end_and_the_next_step_follows_in_the_same_transaction() -> None:
    driver = Driver(pipeline(TWO, step="next: { arcs: [ { step: t } ] }") + "  - { step: t, tool: { kind: noop } }\n")
    tasks = (started(), done(1), started(1, "b"), done(2, 1, "b"))
    facts = (e.StepStarted("s#1"), *tasks, e.StepDone("s#1", Output(data="lies")))
    assert driver.send(Report("s#1", facts)) is None
    assert list(driver.state.runs) == ["t#1"]
    assert "step.done s#1 1\n" in driver.log()


def test_a_fact_of_another_step_run_is_refused() -> None:
    assert refused(Driver(pipeline(TWO)), e.StepStarted("s#2"))
    assert refused(Driver(pipeline(TWO)), e.StepStarted("s#2"), step_run_id="s#2")


def test_nothing_comes_before_the_start_of_the_step() -> None:
    assert refused(Driver(pipeline(TWO)), started())
    assert refused(Driver(pipeline(TWO, step=LOOP % "parallel")), e.IterationStarted("s#1", (0,)))


def test_a_doubled_report_is_refused() -> None:
    driver = begun(pipeline(TWO), started(), done(1))
    assert refused(driver, e.StepStarted("s#1"))
    assert refused(driver, started(), done(1))
    assert refused(driver, done(1))
    assert not refused(driver, started(1, "b"))
    assert refused(driver, started(1, "b"))


WRONG: list[tuple[str, Callable[[], Reported]]] = [
    ("another task", lambda: started(1, "b")),
    ("an unknown task", lambda: started(1, "zzz")),
    ("a later attempt", lambda: started(1, "a", 2)),
    ("a later run", lambda: started(2)),
    ("an end without a start", lambda: done(1)),
    ("an end of a run that is none", lambda: done(1, 0, "a", 0)),
    ("an end of another task that did not run", lambda: msgspec.structs.replace(done(1, 1, "b", 0), ran=False)),
    ("the end of the step", lambda: e.StepDone("s#1", Output())),
    ("the end of an iteration", lambda: e.IterationDone("s#1", (0,), Output())),
    ("an iteration", lambda: e.IterationStarted("s#1", (0,))),
    ("an iteration of nothing", lambda: e.IterationStarted("s#1", ())),
    ("a task of an iteration", lambda: started(1, "a", 1, (0,))),
    ("an iteration of a block", lambda: e.IterationStarted("s#1", (), "s#1.a/1")),
    ("the end of an iteration of a block", lambda: e.IterationDone("s#1", (), Output(), call="s#1.a/1")),
    ("a wait without a delay", lambda: e.TaskWaiting("s#1", (), "s#1.a/1", due_at=5.0)),
    ("a child", lambda: e.TaskWaiting("s#1", (), "s#1.a/1", child=e.Child("x.s#1.a/1", "p"))),
    ("an end of a wait", lambda: e.TaskWaiting("s#1", (), "s#1.a/1", is_over=True)),
    ("a call", lambda: msgspec.structs.replace(started(), call=e.Call("block"))),
    ("a rule that is none", lambda: msgspec.structs.replace(started(), rule=0)),
]


@pytest.mark.parametrize("fact", [make for _, make in WRONG], ids=[name for name, _ in WRONG])
def test_what_cannot_come_first_is_refused(fact: Callable[[], Reported]) -> None:
    assert refused(begun(pipeline(TWO)), fact())


WRONG_ENDS: list[tuple[str, Callable[[], Reported]]] = [
    ("of another task", lambda: done(1, 1, "b")),
    ("of another run", lambda: done(1, 2)),
    ("of another attempt", lambda: done(1, 1, "a", 2)),
    ("that leads nowhere", lambda: done(9)),
    ("that leads nowhere before", lambda: done(-1)),
    ("that breaks and goes on", lambda: msgspec.structs.replace(done(1), directive=Directive.BREAK)),
    ("that goes on nowhere", lambda: msgspec.structs.replace(done(None), directive=Directive.CONTINUE)),
    ("without a run", lambda: msgspec.structs.replace(done(1), ran=False)),
    ("by another name", lambda: e.TaskDone("s#1", (), "", "a", 1, Output(), Directive.CONTINUE, 1)),
    ("by a rule that is none", lambda: msgspec.structs.replace(done(1), rule=0)),
    ("in the middle", lambda: e.StepDone("s#1", Output())),
    ("that waits", lambda: e.TaskWaiting("s#1", (), "s#1.a/1", due_at=1.0)),
    ("by a child that is no playbook", lambda: e.TaskWaiting("s#1", (), "s#1.a/1", child=e.Child("x.s#1.a/1", "p"))),
]


@pytest.mark.parametrize("fact", [make for _, make in WRONG_ENDS], ids=[name for name, _ in WRONG_ENDS])
def test_an_end_that_does_not_belong_to_what_runs_is_refused(fact: Callable[[], Reported]) -> None:
    driver = begun(pipeline(TWO), started())
    assert refused(driver, fact())
    assert not refused(driver, done(1))


def test_a_step_that_failed_cannot_be_reported_as_done_nor_the_other_way() -> None:
    driver = begun(pipeline(TWO), started(), done(None))
    assert refused(driver, e.StepFailed("s#1", fails()))
    assert refused(driver, started(1, "b"))
    failed = msgspec.structs.replace(done(None), output=fails(), directive=Directive.FAIL)
    driver = begun(pipeline(TWO), started(), failed)
    assert refused(driver, e.StepDone("s#1", Output()))
    assert not refused(driver, e.StepFailed("s#1", Output(data="lies")))
    assert driver.state.error is not None


def test_nothing_follows_the_end_of_a_step_in_a_report() -> None:
    driver = begun(pipeline(TWO), started())
    assert refused(driver, done(None), e.StepDone("s#1", Output()), e.StepStarted("s#1"))
    assert refused(driver, done(None), e.StepDone("s#1", Output()), e.StepDone("s#1", Output()))


def test_one_wrong_fact_refuses_the_whole_report() -> None:
    driver = begun(pipeline(TWO))
    assert refused(driver, started(), done(1), started(7, "b"))
    assert refused(driver, started(), e.StepDone("s#1", Output()))
    assert not refused(driver, started(), done(1), started(1, "b"))
    assert refused(Driver(pipeline(TWO)), started(), e.StepStarted("s#1"))


def test_two_workers_may_begin_a_loop_at_once() -> None:
    driver = begun(pipeline(TWO, step=LOOP % "parallel"), e.IterationStarted("s#1", (0,)))
    assert not refused(driver, e.StepStarted("s#1"), e.IterationStarted("s#1", (1,)))
    assert only(driver.facts, "step.started") == "step.started s#1"
    assert refused(driver, e.StepStarted("s#1"))


def iteration(index: int) -> list[Reported]:
    path = (index,)
    return [
        e.IterationStarted("s#1", path),
        started(1, "a", 1, path),
        done(1, 1, "a", 1, path),
        started(1, "b", 1, path),
        done(2, 1, "b", 1, path),
        e.IterationDone("s#1", path, Output()),
    ]


def test_iterations_of_a_parallel_loop_start_in_any_order_but_never_twice_nor_too_many() -> None:
    driver = begun(pipeline(TWO, step=LOOP % "parallel"), e.IterationStarted("s#1", (2,)))
    assert refused(driver, e.IterationStarted("s#1", (2,)))
    assert refused(driver, e.IterationStarted("s#1", (3,)))
    assert refused(driver, e.IterationStarted("s#1", (-1,)))
    assert refused(driver, e.IterationStarted("s#1", (0,), by_server=True))
    assert refused(driver, e.IterationStarted("s#1", (0, 0)))
    assert refused(driver, e.IterationStarted("s#1", (0,)), e.IterationStarted("s#1", (1,)))
    assert refused(driver, e.IterationStarted("s#1", (0,)), e.IterationStarted("s#1", (0,)))
    assert refused(driver, e.IterationStarted("s#1", (0,)), e.IterationDone("s#1", (1,), Output()))
    assert refused(driver, e.IterationStarted("s#1", ()))
    assert not refused(driver, *iteration(0), *iteration(1))
    assert refused(driver, e.IterationStarted("s#1", (0,)))
    assert refused(driver, e.IterationDone("s#1", (0,), Output()))
    assert refused(driver, started(1, "a", 1, (0,)))


def test_an_iteration_that_ends_makes_room_for_one_in_the_same_report() -> None:
    loop = (LOOP % "parallel").replace("[1, 2, 3]", "[1, 2, 3, 4, 5]")
    driver = begun(pipeline(TWO, step=loop), *iteration(0)[:-1], e.IterationStarted("s#1", (1,)))
    end, *more = iteration(0)[-1], e.IterationStarted("s#1", (2,)), e.IterationStarted("s#1", (3,))
    assert refused(driver, more[0])
    assert refused(driver, end, *more)
    assert not refused(driver, end, more[0])


def test_an_iteration_ends_as_its_pipeline_did() -> None:
    driver = begun(pipeline(TWO, step=LOOP % "parallel"), *iteration(0)[:-1])
    assert refused(driver, e.IterationFailed("s#1", (0,), fails()))
    assert refused(driver, e.IterationStarted("s#1", (1,)), e.IterationFailed("s#1", (0,), fails()))
    assert refused(driver, e.StepDone("s#1", Output()))
    assert not refused(driver, e.IterationDone("s#1", (0,), Output(data="lies")))


def test_iterations_of_a_sequential_loop_start_in_order() -> None:
    driver = begun(pipeline(TWO, step=LOOP % "sequential"))
    assert refused(driver, e.IterationStarted("s#1", (1,)))
    assert not refused(driver, *iteration(0), *iteration(1))
    assert refused(driver, e.IterationStarted("s#1", (3,)))
    assert not refused(driver, *iteration(2))
    assert driver.state.status == "completed"


def test_what_one_iteration_of_a_sequential_loop_wrote_to_step_the_next_carries_on_in_the_same_report() -> None:
    driver = begun(pipeline(TWO, step=LOOP % "sequential"))
    first = [
        msgspec.structs.replace(fact, patch=e.Patch(step={"x": 1})) if isinstance(fact, e.TaskDone) else fact
        for fact in iteration(0)
    ]
    assert not refused(driver, *first, *iteration(1))
    assert [fact.step for fact in driver.facts if isinstance(fact, e.IterationDone)] == [{"x": 1}, {"x": 1}]


def test_no_iteration_starts_after_one_has_failed_not_even_in_the_same_report() -> None:
    broken: list[Reported] = [
        e.IterationStarted("s#1", (0,)),
        started(1, "a", 1, (0,)),
        msgspec.structs.replace(done(None, 1, "a", 1, (0,)), output=fails(), directive=Directive.FAIL),
        e.IterationFailed("s#1", (0,), fails()),
    ]
    driver = begun(pipeline(TWO, step=LOOP % "parallel"), e.IterationStarted("s#1", (1,)))
    assert refused(driver, *broken, e.IterationStarted("s#1", (2,)))
    assert not refused(driver, *broken)
    assert refused(driver, e.IterationStarted("s#1", (2,)))


DELAYED = """
- name: a
  kind: python
  code: x
  spec: { policy: { rules: [ { when: "{{ output.status == 'error' }}", then: { do: retry, delay: 100 } } ] } }
"""


def test_a_parked_pipeline_can_report_nothing() -> None:
    driver = Driver(pipeline(DELAYED), Answers(a=fails())).run(2)
    assert driver.state.runs["s#1"].is_parked
    assert refused(driver, started(2, "a", 2))
    assert refused(driver, e.StepFailed("s#1", fails()))
    assert refused(driver, e.TaskWaiting("s#1", (), "s#1.a/2", due_at=100.0))


def test_a_wait_must_be_the_one_that_the_rule_asked_for() -> None:
    driver = Driver(pipeline(DELAYED), Answers(a=fails())).run(1)
    assert refused(driver, e.TaskWaiting("s#1", (), "s#1.a/2", due_at=99.0))
    assert refused(driver, e.TaskWaiting("s#1", (), "s#1.a/1", due_at=100.0))
    assert not refused(driver, e.TaskWaiting("s#1", (), "s#1.a/2", due_at=100.0))


CALL = pipeline("- { name: a, kind: playbook, path: child }")


def test_a_child_has_the_id_that_its_task_run_gives_it_and_is_started_once() -> None:
    driver = Driver(CALL, playbooks={"child": CALL.replace("playbook, path: child", "noop")})
    assert not refused(driver, e.StepStarted("s#1"), started())
    assert refused(driver, e.TaskWaiting("s#1", (), "s#1.a/1", child=e.Child("someone.else", "child")))
    assert not refused(driver, e.TaskWaiting("s#1", (), "s#1.a/1", child=e.Child("x.s#1.a/1", "child")))
    assert refused(driver, done(1))
    assert driver.state.children == 1


def test_a_task_that_waits_for_a_child_has_no_end_before_the_answer() -> None:
    driver = Driver(CALL, playbooks={"child": CALL.replace("playbook, path: child", "noop")})
    waiting = e.TaskWaiting("s#1", (), "s#1.a/1", child=e.Child("x.s#1.a/1", "child"))
    assert refused(driver, e.StepStarted("s#1"), started(), waiting, done(1))


def test_children_are_numbered_by_the_server_whatever_a_worker_says() -> None:
    driver = Driver(CALL, playbooks={"child": CALL.replace("playbook, path: child", "noop")})
    driver.state.children = 6
    said = e.TaskWaiting("s#1", (), "s#1.a/1", child=e.Child("x.s#1.a/1", "child", {"n": 1}, number=99))
    assert not refused(driver, e.StepStarted("s#1"), started(), said)
    taken = e.TaskWaiting("s#1", (), "s#1.a/1", child=e.Child("x.s#1.a/1", "child", {"n": 1}, number=7))
    assert driver.facts[-1] == taken
    assert driver.state.children == 7


def test_an_execution_may_start_only_so_many_children() -> None:
    parent = e.Parent("p", "s#1", (), "s#1.call/1", 1, share=5)
    driver = Driver(CALL, request=("x", RequestExecution("demo", "", parent=parent)))
    driver.state.children = 5
    while driver.step():
        pass
    refusal = next(fact.output for fact in driver.facts if isinstance(fact, e.TaskWaiting) and fact.is_over)
    assert refusal is not None
    assert refusal.error is not None
    assert refusal.error.message == "this execution may start 5 child executions and has started all of them"
    assert only(driver.facts, "task") == (
        "task.started s#1.a/1\n"
        "task.waiting s#1.a/1\n"
        "task.waiting s#1.a/1 over !budget_exceeded\n"
        "task.done s#1.a/1 !budget_exceeded fail"
    )
    assert driver.children == {}


BLOCKS = """
workbook:
  each:
    loop: { in: "{{ [1] }}", iterator: i, loop: { in: "{{ [[1], 2][input.at] }}", iterator: j } }
    tool: { name: t, kind: noop }
  plain:
    tool: { name: t, kind: noop }
"""


def test_the_end_of_a_call_waits_for_its_block() -> None:
    driver = Driver(pipeline("- { name: a, kind: workbook, task: plain }", head=BLOCKS)).run(1)
    assert refused(driver, done(1))
    driver.run(1)
    assert not refused(driver, done(1))


def test_the_iterations_of_a_block_start_and_end_in_turn() -> None:
    text = pipeline("- { name: a, kind: workbook, task: each, input: { at: 0 } }", head=BLOCKS)
    driver = Driver(text).run(1)
    call = "s#1.a/1"
    start_ = e.IterationStarted("s#1", (), call, turn=(0, 0))
    end = e.IterationDone("s#1", (), Output(), call=call, turn=(0, 0))
    failed = e.IterationFailed("s#1", (), fails(), call, turn=(0, 0))
    assert refused(driver, done(1))
    assert refused(driver, end)
    assert refused(driver, started(1, "t"))
    assert refused(driver, e.TaskWaiting("s#1", (), "s#1.a/1", due_at=1.0))
    assert refused(driver, msgspec.structs.replace(start_, call="other"))
    driver.run(1)
    assert refused(driver, end)
    driver.run(1)
    assert refused(driver, end)
    assert refused(driver, failed)
    assert refused(driver, start_)
    driver.run(1)
    assert refused(driver, failed)
    assert refused(driver, msgspec.structs.replace(end, call="other"))
    assert refused(driver, msgspec.structs.replace(end, turn=(0, 1)))
    assert not refused(driver, end)
    assert refused(driver, start_)
    assert refused(driver, end)
    assert not refused(driver, msgspec.structs.replace(end, turn=(0,)))
    assert refused(driver, start_)
    assert not refused(driver, done(1))


def test_an_iteration_of_a_block_whose_inner_collection_is_no_list_can_only_fail() -> None:
    text = pipeline("- { name: a, kind: workbook, task: each, input: { at: 1 } }", head=BLOCKS)
    driver = Driver(text).run(1)
    start_ = e.IterationStarted("s#1", (), "s#1.a/1", turn=(0,))
    assert refused(driver, start_, e.IterationDone("s#1", (), Output(), call="s#1.a/1", turn=(0,)))
    assert not refused(driver, start_, e.IterationFailed("s#1", (), fails(), "s#1.a/1", turn=(0,)))


def test_a_start_of_a_blocks_iteration_that_comes_twice_is_not_taken_for_the_next_one() -> None:
    head = """
    workbook:
      twice:
        loop: { in: [1, 2], iterator: number }
        tool: { name: t, kind: noop }
    """
    driver = Driver(pipeline("- { name: a, kind: workbook, task: twice }", head=head)).run(4)
    first = e.IterationStarted("s#1", (), "s#1.a/1", turn=(0,))
    assert refused(driver, first)
    assert not refused(driver, msgspec.structs.replace(first, turn=(1,)))


def test_ctx_changes_of_a_block_name_its_own_path() -> None:
    head = """
    workbook:
      plain:
        tool:
          name: t
          kind: noop
          spec: { policy: { rules: [], before: [ { when: true, then: { do: skip, set: { ctx.x: 1 } } } ] } }
    """
    driver = Driver(pipeline("- { name: a, kind: workbook, task: plain }", head=head)).run()
    assert only(driver.facts, "ctx") == 'ctx.patched {"x":1} by workbook/plain/tool/t/before/0/set'
