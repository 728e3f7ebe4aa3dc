"""What a live execution is waiting for."""

from collections.abc import Mapping

import pytest

from noetl.engine import events as e
from noetl.engine.commands import Report
from noetl.engine.evolve import evolve
from noetl.engine.explain import waits
from noetl.engine.explain.waits import For, Wait, explain_waits
from noetl.engine.leases import Lease, Work
from noetl.engine.output import Output, failed
from noetl.engine.state import empty
from noetl.engine.worklist import Row
from noetl.playbook.model import Directive
from tests.engine import playbooks
from tests.engine.driver import Driver
from tests.engine.test_snapshot import Tool


def found(driver: Driver, work: Mapping[Row, Work] | None = None) -> tuple[Wait, ...]:
    return explain_waits(driver.program, driver.state, work=work)


def texts(driver: Driver, work: Mapping[Row, Work] | None = None) -> list[str]:
    return [wait.text for wait in found(driver, work)]


def held(row: Row, worker: str, *, running: frozenset[int] = frozenset(), stop: int = 1) -> dict[Row, Work]:
    """Work of which a worker has some indexes in hand and may start others up to a number."""
    return {row: Work(stop, stop, stop, leases=(Lease(1, worker, 9.0, stop, len(running), stop, running),))}


def test_a_step_that_nobody_took_waits_for_a_worker_and_a_token_for_its_turn() -> None:
    driver = Driver(playbooks.FAN)
    assert texts(driver) == ["left#1 waits for a worker to take it", "right#1 waits for a worker to take it"]


def test_a_join_says_who_may_still_come() -> None:
    driver = Driver(playbooks.FAN).run(moves=2)
    assert found(driver)[-1] == Wait(For.JOIN, "both", tokens=1, may_come=("right#1",))
    assert texts(driver)[-1] == "both waits for tokens that may still come from right#1; 1 stand at the join"


def test_a_running_task_is_named_with_its_worker() -> None:
    driver = Driver(playbooks.FAN)
    driver.send(Report("left#1", [e.StepStarted("left#1", "w1")]))
    work = held(("left#1", ()), "w1", running=frozenset({0}))
    assert texts(driver, work)[0] == "left#1 waits for worker w1 to go on"
    id_ = "left#1.left_task/1"
    driver.send(Report("left#1", [e.TaskStarted("left#1", (), id_, "left_task", 1, id_)]))
    assert found(driver, work)[0] == Wait(For.TASK, "left#1", "w1", id_)
    assert texts(driver, work)[0] == f"left#1 waits for task run {id_} on worker w1"


def test_of_a_loop_each_iteration_is_with_the_worker_that_holds_it() -> None:
    driver = Driver(playbooks.NESTED).run(moves=1)
    assert [wait.worker for wait in found(driver, held(("cities#1", (0,)), "w2"))] == [None, "w2", None]
    assert [wait.worker for wait in found(driver, held(("cities#1", (1,)), "w2"))] == [None, None, None]
    started = held(("cities#1", (0,)), "w2", running=frozenset({0}))
    assert found(driver, started)[1].worker == "w2"
    others = held(("cities#1", (0,)), "w2", running=frozenset({1}), stop=3)
    assert found(driver, others)[1].worker is None


def test_a_task_without_a_worker_is_just_a_task() -> None:
    assert Wait(For.TASK, "a#1", task_run_id="a#1.t/1").text == "a#1 waits for task run a#1.t/1"


def test_a_retry_waits_for_a_timer() -> None:
    driver = Driver(playbooks.PAGES, lambda *_: failed("connect", "no", retryable=True)).run(moves=10)
    timers = [wait for wait in found(driver) if wait.kind is For.TIMER]
    assert timers[0].id == "fetch_all#1[0]"
    assert timers[0].text == (
        "fetch_all#1[0] waits for a timer that is due at 1970-01-01T00:05:00+00:00 to run task `fetch` again: no"
    )


def test_a_loop_counts_what_has_not_started() -> None:
    driver = Driver(playbooks.NESTED).run(moves=1)
    assert texts(driver) == [
        "cities#1[0] waits for 1 iterations that have not started; 1 are in flight",
        "cities#1[0,0] waits for a worker to take it",
        "cities#1[1] waits for 1 iterations that have not started; 0 are in flight",
    ]


def test_a_parked_caller_waits_for_its_child() -> None:
    driver = Driver(playbooks.PARENT, Tool(), playbooks={"other": playbooks.CHILD}).run(moves=1)
    assert texts(driver) == ["ask#1 waits for child execution x.ask#1.child/1"]


def test_a_token_that_is_not_admitted_waits_for_a_change() -> None:
    driver = Driver(playbooks.DOORS)
    assert texts(driver)[-1] == (
        "patient waits for its admission rules to let 1 in; they are tried again when ctx changes"
    )


def test_an_execution_that_has_ended_waits_for_nothing() -> None:
    assert found(Driver(playbooks.FAN).run()) == ()


@pytest.mark.parametrize("text", [playbooks.PAGES, playbooks.NESTED, playbooks.BLOCKS, playbooks.FAN, playbooks.DOORS])
def test_at_every_event_there_is_an_answer(text: str) -> None:
    driver = Driver(text, Tool()).run()
    state = empty("x")
    for fact in driver.facts:
        evolve(driver.program, state, fact)
        assert all(wait.text for wait in explain_waits(driver.program, state))


def test_a_join_that_none_can_reach_any_more_waits_for_its_turn() -> None:
    assert Wait(For.JOIN, "both", tokens=2).text == "both waits for its turn; 2 stand at the join"


WIDE = f"""{playbooks.HEAD}
workflow:
  - step: each
    loop: {{ in: "{{{{ range(1500) | list }}}}", iterator: item, spec: {{ mode: parallel, max_in_flight: 1500 }} }}
    tool: {{ kind: python, code: x }}
"""


def test_the_answers_are_bounded() -> None:
    driver = Driver(WIDE, lambda *_: Output())
    started: list[e.StepStarted | e.IterationStarted] = [e.StepStarted("each#1", "w1")]
    started += [e.IterationStarted("each#1", (index,)) for index in range(1_200)]
    driver.send(Report("each#1", started))
    assert len(found(driver)) == waits.WAITS_MAX
    assert texts(driver)[0] == "each#1 waits for 300 iterations that have not started; 1200 are in flight"


TWO_TASKS = f"""{playbooks.HEAD}
workflow:
  - step: two
    tool:
      - {{ name: a, kind: python, code: x }}
      - {{ name: b, kind: python, code: x }}
"""


def test_between_two_tasks_the_worker_has_it() -> None:
    driver = Driver(TWO_TASKS)
    id_ = "two#1.a/1"
    started = e.TaskStarted("two#1", (), id_, "a", 1, id_)
    done = e.TaskDone("two#1", (), id_, "a", 1, Output(), Directive.CONTINUE, 1)
    driver.send(Report("two#1", [e.StepStarted("two#1", "w1"), started, done]))
    assert texts(driver, held(("two#1", ()), "w1")) == ["two#1 waits for worker w1 to go on"]


def test_what_was_woken_waits_for_any_worker() -> None:
    driver = Driver(playbooks.PARENT, Tool(), playbooks={"other": playbooks.CHILD})
    while not any(isinstance(fact, e.TaskWaiting) and fact.is_over for fact in driver.facts):
        driver.step()
    assert texts(driver) == ["ask#1 waits for a worker to take it"]


SOME = f"""{playbooks.HEAD}
workflow:
  - step: each
    spec: {{ policy: {{ failure: {{ mode: best_effort }} }} }}
    loop: {{ in: [1, 2, 3, 4, 5, 6], iterator: item }}
    tool: {{ kind: python, code: x, input: {{ item: "{{{{ iter.item }}}}" }} }}
"""


def test_iterations_that_have_ended_do_not_count_among_those_left() -> None:
    driver = Driver(SOME, lambda _name, _fields, given: Output() if given["item"] != 2 else failed("exception", "no"))
    while sum(isinstance(fact, e.IterationDone | e.IterationFailed) for fact in driver.facts) < 4:
        driver.step()
    assert texts(driver) == ["each#1 waits for 2 iterations that have not started; 0 are in flight"]
    driver.step()
    assert texts(driver)[0] == "each#1 waits for 1 iterations that have not started; 1 are in flight"


MEETING = f"""{playbooks.HEAD}
workflow:
  - step: start
    next: {{ spec: {{ mode: inclusive }}, arcs: [ {{ step: both }}, {{ step: shut }}, {{ step: apart }} ] }}
  - step: shut
    spec: &closed
      policy:
        admit:
          rules: [ {{ when: "{{{{ ctx.go | default(false) }}}}", then: {{ allow: true }} }} ]
          on_deny: wait
    next: {{ arcs: [ {{ step: both }} ] }}
  - step: apart
    spec: *closed
    tool: {{ kind: python, code: x }}
  - step: both
    spec: {{ join: all }}
    tool: {{ kind: python, code: x }}
  - step: busy
    tool: {{ kind: python, code: x }}
    set: {{ ctx.go: true }}
"""


def test_tokens_at_other_doors_may_still_come_to_a_join_where_a_way_leads_there() -> None:
    text = MEETING.replace("{ step: apart } ]", "{ step: apart }, { step: busy } ]")
    found_ = {wait.id: wait for wait in found(Driver(text))}
    assert found_["both"] == Wait(For.JOIN, "both", tokens=1, may_come=("shut",))
    assert found_["apart"] == Wait(For.ADMISSION, "apart", tokens=1)


def test_a_timer_is_told_to_the_second() -> None:
    assert Wait(For.TIMER, "a#1", until=0.0).text == "a#1 waits for a timer that is due at 1970-01-01T00:00:00+00:00"
