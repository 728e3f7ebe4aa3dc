"""Which failed iterations run again where several loops have some."""

from noetl.engine.commands import Rejection
from noetl.engine.rerun import Cut
from tests.engine.driver import Driver
from tests.engine.rerunning import rerun
from tests.engine.reruns import HEAD, Calls, again, items_called

FAILED = Cut(failed_iterations=True)


def partly(name: str, items: list[str], following: str = "") -> str:
    return f"""
  - step: {name}
    spec: {{ policy: {{ failure: {{ mode: best_effort }} }} }}
    loop: {{ in: {items}, iterator: item }}
    tool: {{ kind: python, code: x, input: {{ item: "{{{{ iter.item }}}}" }} }}
{following}"""


TO_B = "    next: { arcs: [ { step: b } ] }\n"
AFTER_EACH_OTHER = f"{HEAD}workflow:{partly('a', ['a1', 'a2', 'a3'], TO_B)}{partly('b', ['b1', 'b2', 'b3'])}"
BESIDE_EACH_OTHER = f"""{HEAD}
workflow:
  - step: start
    next: {{ spec: {{ mode: inclusive }}, arcs: [ {{ step: a }}, {{ step: b }} ] }}
{partly("a", ["a1", "a2", "a3"])}{partly("b", ["b1", "b2", "b3"])}"""
TWO_FAIL = ("a2", "b3")


def two_failed(text: str) -> Driver:
    origin = Driver(text, Calls(lambda _, given: given.get("item") in TWO_FAIL)).run()
    assert origin.state.status == "completed"
    return origin


def test_failed_iterations_of_loops_beside_each_other_run_again_in_all_of_them() -> None:
    tool = Calls()
    driver = again(BESIDE_EACH_OTHER, two_failed(BESIDE_EACH_OTHER), FAILED, tool)
    assert sorted(items_called(tool), key=str) == ["a2", "b3"]
    assert [driver.state.steps[step].done for step in ("a", "b")] == [3, 3]


def test_a_loop_that_follows_from_one_with_failed_iterations_runs_anew() -> None:
    tool = Calls()
    again(AFTER_EACH_OTHER, two_failed(AFTER_EACH_OTHER), FAILED, tool)
    assert items_called(tool) == ["a2", "b1", "b2", "b3"]


def test_of_loops_after_each_other_one_can_be_named() -> None:
    tool = Calls()
    again(AFTER_EACH_OTHER, two_failed(AFTER_EACH_OTHER), Cut("b", failed_iterations=True), tool)
    assert items_called(tool) == ["b3"]


UNTIL_DONE = f"""{HEAD}
workflow:
  - step: a
    spec: {{ policy: {{ failure: {{ mode: best_effort }} }} }}
    loop: {{ in: [a1, a2], iterator: item }}
    tool:
      kind: python
      code: x
      input: {{ item: "{{{{ iter.item }}}}", turn: "{{{{ ctx.turn | default(1) }}}}" }}
    next: {{ arcs: [ {{ step: a, when: "{{{{ event.loop.failed > 0 }}}}", set: {{ ctx.turn: 2 }} }}, {{ step: b }} ] }}
{partly("b", ["b1", "b2"])}"""


def test_failed_iterations_of_a_step_that_ran_again_after_them_run_only_where_it_is_named() -> None:
    fails = {("a1", 1), ("b2", None)}
    origin = Driver(UNTIL_DONE, Calls(lambda _, given: (given["item"], given.get("turn")) in fails)).run()
    tool, named = Calls(), Calls()
    again(UNTIL_DONE, origin, FAILED, tool)
    assert items_called(tool) == ["b2"]
    again(UNTIL_DONE, origin, Cut("a", failed_iterations=True), named)
    assert items_called(named) == ["a1", "b1", "b2"]


def test_where_each_loop_with_failed_iterations_ran_again_the_answer_names_them() -> None:
    origin = Driver(UNTIL_DONE, Calls(lambda _, given: (given["item"], given.get("turn")) == ("a1", 1))).run()
    assert rerun(origin.program, "x", origin.facts, FAILED, now=0.0) == Rejection(
        "unknown",
        "execution x has failed iterations only in runs after which the step ran again: a; name the step to run from",
    )
