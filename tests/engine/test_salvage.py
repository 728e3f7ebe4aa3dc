"""A loop that did not end keeps the iterations that had succeeded, and runs only the others again."""

import msgspec
import pytest

from noetl.engine import events as e
from noetl.engine.commands import CancelExecution, RequestExecution
from noetl.engine.rerun import Cut
from tests.engine.driver import Driver
from tests.engine.rerunning import rerun
from tests.engine.reruns import HEAD, PIECES, Calls, again, deep, half_way, items_called, items_done, loop, succeeded

FAILED = Cut(failed_iterations=True)


def side(name: str, items: list[str]) -> str:
    return f"""
  - step: {name}
    loop: {{ in: {items}, iterator: item }}
    tool: {{ kind: python, code: x, input: {{ item: "{{{{ iter.item }}}}" }} }}
"""


LEFT, RIGHT = ["l1", "l2", "l3", "l4"], ["r1", "r2", "r3", "r4"]
FORK = f"""{HEAD}
workflow:
  - step: start
    next: {{ spec: {{ mode: inclusive }}, arcs: [ {{ step: left }}, {{ step: right }} ] }}
"""
SIDES = f"{FORK}{side('left', LEFT)}{side('right', RIGHT)}"
BOTH_LOOP = f"""{FORK}
  - step: left
    next: {{ arcs: [ {{ step: work }} ] }}
  - step: right
    next: {{ arcs: [ {{ step: work }} ] }}
{side("work", LEFT)}"""

CLASHING_INSIDE = f"""{HEAD}
workflow:
  - step: each
    loop:
      in: [1, 2]
      iterator: item
      loop: {{ in: [a, b], iterator: part, spec: {{ mode: parallel }} }}
    tool:
      kind: python
      code: x
      input: {{ item: "{{{{ iter.parent.item ~ iter.part }}}}" }}
      set: {{ ctx.last: "{{{{ 0 if iter.parent.item == 1 or workload.same | default(false) else iter.part }}}}" }}
"""


@pytest.mark.parametrize("mode", ["parallel", "sequential"])
@pytest.mark.parametrize("moves", [5, 6, 7, 8, 9])
def test_a_loop_that_was_cancelled_keeps_the_iterations_that_were_done(mode: str, moves: int) -> None:
    text = loop(mode, "fail_fast")
    origin = half_way(text, Calls(), moves, seed=moves)
    done = items_done(origin)
    assert 0 < len(done) < 4
    tool = Calls()
    driver = again(text, origin, Cut(), tool)
    assert sorted([*done, *items_called(tool)], key=str) == [10, 11, 12, 13]
    seen = 146 if mode == "parallel" else 13
    assert tool.made[-1] == ("after_task", {"all": [10, 11, 12, 13], "seen": seen})
    assert driver.state.status == "completed"


@pytest.mark.parametrize("mode", ["parallel", "sequential"])
def test_a_loop_that_stopped_at_a_failure_keeps_the_iterations_that_were_done(mode: str) -> None:
    text = loop(mode, "fail_fast")
    origin = Driver(text, Calls(lambda _, given: given.get("item") == 11)).run()
    assert origin.state.status == "failed"
    plain, failed_ones = Calls(), Calls()
    one, other = again(text, origin, Cut(), plain), again(text, origin, FAILED, failed_ones)
    assert plain.made == failed_ones.made
    assert 10 not in items_called(plain)
    assert one.facts[2:] == other.facts[2:]


def test_a_step_that_is_named_runs_anew_with_all_iterations() -> None:
    text = loop("parallel", "fail_fast")
    origin = half_way(text, Calls(), 10)
    tool = Calls()
    again(text, origin, Cut("each"), tool)
    assert sorted(items_called(tool), key=str) == [10, 11, 12, 13]


def test_a_loop_of_which_nothing_was_done_takes_its_items_anew() -> None:
    text = loop("parallel", "fail_fast")
    origin = half_way(text, Calls(), 2)
    assert items_done(origin) == []
    driver = again(text, origin, Cut(), Calls())
    started = next(fact for fact in driver.facts if isinstance(fact, e.LoopStarted))
    assert started.kept is None


@pytest.mark.parametrize("moves", range(18, 54, 4))
def test_of_nested_loops_that_were_cancelled_each_iteration_succeeds_once(moves: int) -> None:
    text = deep("fail_fast")
    origin = half_way(text, Calls(), moves, seed=moves)
    assert succeeded(origin)
    tool = Calls()
    driver = again(text, origin, Cut(), tool)
    assert driver.state.status == "completed", driver.log()
    assert sorted([*succeeded(origin), *items_called(tool)], key=str) == PIECES


def test_what_was_kept_and_not_come_to_is_kept_by_a_plain_rerun_too() -> None:
    text = deep("fail_fast")
    origin = half_way(text, Calls(), 40, seed=3)
    request = rerun(origin.program, "x", origin.facts, Cut(), now=7.0)
    assert isinstance(request, RequestExecution)
    second = Driver(text, Calls(), request=("x", request))
    second.send(CancelExecution("at once"))
    tool = Calls()
    third = again(text, second, Cut(), tool)
    assert third.state.status == "completed"
    assert sorted([*succeeded(origin), *items_called(tool)], key=str) == PIECES


WIDE = f"""{HEAD}
workflow:
  - step: each
    loop:
      in: [1, 2]
      iterator: item
      spec: {{ mode: parallel, max_in_flight: 2 }}
      loop: {{ in: [a, b], iterator: part }}
    tool: {{ kind: python, code: x, input: {{ item: "{{{{ iter.parent.item ~ iter.part }}}}" }} }}
"""


def test_what_is_kept_only_inside_iterations_that_were_not_come_to_is_kept_still() -> None:
    origin = half_way(WIDE, Calls(), 3, seed=2)
    assert items_done(origin, 2) == ["2a"]
    narrow = WIDE.replace("max_in_flight: 2", "max_in_flight: 1")
    other = Driver(narrow, Calls()).program
    request = rerun(origin.program, "x", origin.facts, Cut(), now=0.0, text=other)
    assert isinstance(request, RequestExecution)
    second = Driver(narrow, Calls(), request=("x", request))
    second.send(CancelExecution("at once"))
    tool = Calls()
    third = again(narrow, second, Cut(), tool)
    assert third.state.status == "completed"
    assert sorted(items_called(tool), key=str) == ["1a", "1b", "2b"]


def test_several_loops_go_on_side_by_side() -> None:
    origin = half_way(SIDES, Calls(), 18, seed=4)
    done = items_done(origin)
    runs = {fact.step_run_id for fact in origin.facts if isinstance(fact, e.IterationDone)}
    assert runs == {"left#1", "right#1"}
    tool = Calls()
    driver = again(SIDES, origin, Cut(), tool)
    assert sorted([*done, *items_called(tool)], key=str) == ["l1", "l2", "l3", "l4", "r1", "r2", "r3", "r4"]
    assert driver.state.status == "completed"
    assert {fact.step_run_id for fact in driver.facts if isinstance(fact, e.StepScheduled)} == {"left#2", "right#2"}


def test_a_loop_beside_the_step_that_is_named_goes_on() -> None:
    origin = half_way(SIDES, Calls(), 18, seed=4)
    tool = Calls()
    again(SIDES, origin, Cut("left"), tool)
    done = {item for item in items_done(origin) if str(item).startswith("r")}
    assert done
    assert sorted(items_called(tool), key=str) == sorted({*LEFT, *RIGHT} - done, key=str)


def test_two_runs_of_one_loop_go_on_under_numbers_of_their_own() -> None:
    origin = half_way(BOTH_LOOP, Calls(), 16, seed=2)
    runs = {fact.step_run_id for fact in origin.facts if isinstance(fact, e.IterationDone)}
    assert runs == {"work#1", "work#2"}
    tool = Calls()
    driver = again(BOTH_LOOP, origin, Cut(), tool)
    assert len(items_done(origin)) + len(items_done(driver)) == 8
    assert [fact.step_run_id for fact in driver.facts if isinstance(fact, e.StepScheduled)] == ["work#3", "work#4"]


CHILD = f"""{HEAD.replace("path: demo", "path: child")}
workload: {{ item: 0 }}
workflow:
  - step: work
    tool: {{ kind: python, code: x, input: {{ item: "{{{{ workload.item }}}}" }} }}
"""
PARENT = f"""{HEAD}
workflow:
  - step: each
    loop: {{ in: [10, 11, 12, 13], iterator: item, spec: {{ mode: parallel, max_in_flight: 2 }} }}
    tool: {{ kind: playbook, path: child, input: {{ item: "{{{{ iter.item }}}}" }} }}
"""


@pytest.mark.parametrize("moves", [18, 20, 22, 24])
def test_child_playbooks_that_had_ended_are_not_started_again(moves: int) -> None:
    origin = half_way(PARENT, Calls(), moves, seed=moves, child=CHILD)
    done = items_done(origin)
    assert done
    request = rerun(origin.program, "x", origin.facts, Cut(), now=7.0)
    assert isinstance(request, RequestExecution)
    driver = Driver(PARENT, Calls(), playbooks={"child": CHILD}, request=("y", request)).run()
    assert driver.state.status == "completed"
    assert len(driver.children) == 4 - len(done)
    assert driver.data == [10, 11, 12, 13]


CLASHING = f"""{HEAD}
workflow:
  - step: each
    loop: {{ in: [1, 2], iterator: item, spec: {{ mode: parallel }} }}
    tool:
      kind: python
      code: x
      input: {{ item: "{{{{ iter.item }}}}", same: "{{{{ workload.same | default(false) }}}}" }}
      set: {{ ctx.last: "{{{{ 0 if workload.same | default(false) else iter.item }}}}" }}
"""


def test_a_loop_whose_iterations_clashed_runs_anew_since_keeping_them_would_clash_again() -> None:
    origin = Driver(CLASHING, Calls()).run()
    assert origin.state.error is not None
    assert len(items_done(origin)) == 2
    request = rerun(origin.program, "x", origin.facts, Cut(), now=0.0)
    assert isinstance(request, RequestExecution)
    tool = Calls()
    mended = msgspec.structs.replace(request, workload={"same": True})
    driver = Driver(CLASHING, tool, request=("y", mended)).run()
    assert (driver.state.status, items_called(tool)) == ("completed", [1, 2])


def test_a_loop_inside_whose_iterations_clashed_runs_anew_and_those_beside_it_do_not() -> None:
    origin = Driver(CLASHING_INSIDE, Calls()).run()
    assert origin.state.status == "failed"
    assert sorted(items_done(origin, 2), key=str) == ["1a", "1b", "2a", "2b"]
    request = rerun(origin.program, "x", origin.facts, Cut(), now=0.0)
    assert isinstance(request, RequestExecution)
    tool = Calls()
    mended = msgspec.structs.replace(request, workload={"same": True})
    driver = Driver(CLASHING_INSIDE, tool, request=("y", mended)).run()
    assert (driver.state.status, items_called(tool)) == ("completed", ["2a", "2b"])


GUARDED = f"""{HEAD}
workload: {{ limit: 0 }}
workflow:
  - step: each
    loop: {{ in: [1, 2], iterator: item }}
    tool: {{ kind: python, code: x, input: {{ item: "{{{{ iter.item }}}}" }} }}
    next: {{ arcs: [ {{ step: after, when: "{{{{ 1 / workload.limit > 0 }}}}" }} ] }}
  - step: after
    tool: {{ kind: python, code: x, input: {{ all: "{{{{ each.data }}}}" }} }}
"""


def test_a_loop_that_was_done_and_whose_guard_raised_is_routed_again_without_running() -> None:
    origin = Driver(GUARDED, Calls()).run()
    assert origin.state.status == "failed"
    request = rerun(origin.program, "x", origin.facts, Cut(), now=0.0)
    assert isinstance(request, RequestExecution)
    tool = Calls()
    driver = Driver(GUARDED, tool, request=("y", msgspec.structs.replace(request, workload={"limit": 2}))).run()
    assert driver.state.status == "completed"
    assert tool.made == [("after_task", {"all": [1, 2]})]


BLOCK_IN_LOOP = f"""{HEAD}
workbook:
  parts:
    loop: {{ in: [1, 2], iterator: part }}
    tool: [ {{ name: part, kind: python, code: x, input: {{ item: "{{{{ input.item ~ iter.part }}}}" }} }} ]
workflow:
  - step: each
    spec: {{ policy: {{ failure: {{ mode: best_effort }} }} }}
    loop: {{ in: [a, b], iterator: item }}
    tool: {{ kind: workbook, task: parts, input: {{ item: "{{{{ iter.item }}}}" }} }}
"""


def test_iterations_of_a_workbook_block_are_part_of_the_iteration_that_calls_it() -> None:
    origin = Driver(BLOCK_IN_LOOP, Calls(lambda _, given: given.get("item") == "b2")).run()
    assert any(isinstance(fact, e.IterationFailed) and fact.call for fact in origin.facts)
    tool = Calls()
    driver = again(BLOCK_IN_LOOP, origin, FAILED, tool)
    assert items_called(tool) == ["b1", "b2"]
    assert driver.state.output.data == [["a1", "a2"], ["b1", "b2"]]
