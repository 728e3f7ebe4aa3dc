"""Transactions that leave the rest to the next one: the log is the same, and nothing is forgotten in between."""

from collections import defaultdict
from random import Random

import pytest
from hypothesis import given, settings

from noetl.engine import events as e
from noetl.engine.commands import CancelExecution, Continue, Rejection
from noetl.engine.decide import FACTS_MAX, UNWORKED_STEPS_MAX, Surroundings, continuation, transact
from noetl.engine.effects import SetTimer
from noetl.engine.evolve import fold
from noetl.engine.loops import ENDED_AT_ONCE_MAX, behind
from noetl.engine.output import Output
from tests.engine.driver import Driver, Stored, fails
from tests.engine.laws.cases import Case, cases
from tests.engine.logs import compact, only
from tests.engine.scenarios import scenarios
from tests.engine.texts import Answers, pipeline, playbook


class Short(Driver):
    """Every transaction leaves to the next one what it can."""

    facts_max = 1


def empties(count: int, outer: str = "mode: parallel, max_in_flight: 3", inner: str = "{{ [] }}") -> str:
    loop = f"""
    loop:
      in: "{{{{ range({count}) | list }}}}"
      iterator: row
      spec: {{ {outer} }}
      loop: {{ in: "{inner}", iterator: cell }}
    """
    return pipeline("- { name: a, kind: python, code: x }", step=loop)


def sizes(driver: Driver) -> list[int]:
    """How many facts each transaction had, by the timers that went on."""
    found = []
    while "continue" in driver.timers:
        before = len(driver.events)
        driver.work()
        found.append(len(driver.events) - before)
    return found


@pytest.mark.parametrize("outer", ["mode: sequential", "mode: parallel, max_in_flight: 3"])
def test_a_loop_over_empty_lists_is_opened_one_after_the_other(outer: str) -> None:
    driver = Short(empties(3, outer))
    assert compact(driver.facts[3:]) == "step.scheduled s#1\nloop.started s#1 3 " + (
        "sequential 1" if "seq" in outer else "parallel 3"
    )
    assert driver.timers == {"continue": (0.0, Continue(1))}
    assert sizes(driver) == [4, 4, 8]
    assert only(driver.facts, "loop") == compact(driver.facts[4:18])
    assert driver.data == [[], [], []]
    assert driver.timers == {}


def test_a_loop_over_many_empty_lists_holds_no_transaction_longer_than_the_bound() -> None:
    count = FACTS_MAX
    driver = Driver(empties(count))
    first = len(driver.events)
    assert FACTS_MAX <= first < FACTS_MAX + 10
    assert all(size < FACTS_MAX + 10 for size in sizes(driver))
    assert driver.state.status == "completed"
    assert len(driver.events) > 3 * FACTS_MAX
    assert len(driver.state.outputs) == 1


def test_only_what_is_open_at_once_is_in_flight() -> None:
    driver = Short(empties(9, inner="{{ [1] if iter.row == 0 else [] }}"))
    most = 0
    while "continue" in driver.timers:
        driver.work()
        loop = driver.state.runs["s#1"].loop
        assert loop is not None
        most = max(most, len(loop.live))
    assert most == 1
    assert driver.run().data == [[None], *[[]] * 8]


@pytest.mark.parametrize("name", sorted(scenarios()))
def test_the_log_is_the_same_wherever_transactions_end(name: str) -> None:
    whole, short = (scenarios()[name].run(kind) for kind in (Driver, Short))
    assert compact(short.facts) == compact(whole.facts)


class Chancy:
    """A tool that answers by chance, the same whenever it is asked in the same order."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)

    def __call__(self, _name: str, _fields: object, _given: object) -> Output:
        return self.chance.choice((Output(data=1), Output(data=[1, 2]), Output(data={"rows": []}), fails()))


@settings(max_examples=25)
@given(case=cases())
def test_generated_playbooks_have_the_same_log_wherever_transactions_end(case: Case) -> None:
    callee = pipeline("- { name: a, kind: noop }")
    callees = defaultdict(lambda: callee, {"demo": callee})
    whole, short = (
        kind(case.text, Chancy(case.seed), playbooks=callees, seed=case.seed).run(moves)
        for kind, moves in ((Driver, 200), (Short, 2_000))
    )
    shorter, longer = sorted((compact(driver.facts) for driver in (whole, short)), key=len)
    assert longer.startswith(shorter)
    if whole.state.has_ended and short.state.has_ended:
        assert shorter == longer


DEEP = """
  tool: { name: t, kind: python, code: x }
  loop:
    in: "{{ [0, 1, 2, 3] }}"
    iterator: a
    spec: { mode: parallel, max_in_flight: 2 }
    loop:
      in: "{{ [0, 1, 2] }}"
      iterator: b
      spec: { mode: parallel, max_in_flight: 2 }
      loop: { in: "{{ [1] if iter.index == 1 and iter.parent.index == 2 else [] }}", iterator: c }
"""
BESIDE = f"""
- {{ step: z, next: {{ spec: {{ mode: inclusive }}, arcs: [ {{ step: p }}, {{ step: o }}, {{ step: j }} ] }} }}
- step: p{DEEP}
  next: {{ arcs: [ {{ step: j }} ] }}
- step: o{DEEP}
- {{ step: j, spec: {{ join: all }}, tool: {{ name: j, kind: noop }} }}
"""


def test_deep_loops_beside_each_other_go_on_in_the_same_order() -> None:
    whole, short = Driver(playbook(BESIDE)), Short(playbook(BESIDE))
    assert sizes(whole) == []
    assert len(sizes(short)) > 20
    assert compact(short.facts) == compact(whole.facts)
    assert list(short.state.runs) == ["p#1", "o#1"]
    assert short.run().state.status == "completed"
    assert short.facts == whole.run().facts


def test_what_was_left_open_is_known_from_the_log_alone() -> None:
    driver = Short(playbook(BESIDE))
    driver.check()
    again = Driver(playbook(BESIDE))
    again.state = fold(again.program, "x", driver.facts)
    assert sorted(behind(again.program, again.state)) == sorted(behind(driver.program, driver.state))
    assert list(behind(driver.program, driver.state)) == [("p#1", ()), ("o#1", ())]
    answer = transact(again.program, again.state, Continue(), Surroundings(0.0, Stored(), facts_max=1))
    driver.work()
    assert isinstance(answer, list)
    assert answer == driver.facts[-len(answer) :]


def test_a_report_may_come_before_the_rest_and_nothing_is_lost() -> None:
    driver = Short(empties(4, inner="{{ [iter.row] }}"))
    driver.work()
    run = driver.state.runs["s#1"]
    for _ in range(3):
        assert driver.move(run, (0, 0))
    assert "loop.iteration.done s#1[0] [null]" in driver.log()
    assert driver.run().data == [[None]] * 4
    assert driver.timers == {}


def test_there_is_nothing_to_go_on_with_where_nothing_was_left() -> None:
    driver = Driver(empties(4, inner="{{ [iter.row] }}"))
    assert "continue" not in driver.timers
    assert driver.send(Continue()) == Rejection("stale", "nothing was left to go on with in execution x")


def test_a_full_transaction_that_left_nothing_sets_no_timer() -> None:
    driver = Short(empties(1))
    (last,) = sizes(driver)
    around = Surroundings(5.0, Stored(), facts_max=last)
    assert continuation(driver.program, driver.state, Continue(3), driver.facts[-last:], around) is None


def test_the_timer_that_goes_on_is_due_at_once_and_only_where_the_transaction_was_full() -> None:
    driver = Short(empties(2))
    facts = driver.facts
    full = Surroundings(5.0, Stored(), facts_max=len(facts))
    assert continuation(driver.program, driver.state, Continue(3), facts, full) == SetTimer(
        "continue", 5.0, Continue(4)
    )
    roomy = Surroundings(5.0, Stored(), facts_max=len(facts) + 1)
    assert continuation(driver.program, driver.state, Continue(3), facts, roomy) is None


def test_an_execution_can_be_cancelled_while_something_is_left() -> None:
    driver = Short(empties(4))
    assert driver.send(CancelExecution()) is None
    assert driver.state.status == "cancelled"
    assert driver.timers == {}
    assert driver.send(Continue()) == Rejection("ended", "execution x has ended: cancelled")


CIRCLE = playbook("""
- step: a
  loop: { in: "{{ [1, 2] }}", iterator: x, loop: { in: "{{ [] }}", iterator: y } }
  tool: { kind: noop }
  next: { arcs: [ { step: a } ] }
""")


def test_a_circle_without_work_ends_wherever_transactions_end() -> None:
    short, whole = Short(CIRCLE), Driver(CIRCLE)
    sizes(short), sizes(whole)
    assert whole.state.error is not None
    assert whole.state.error.kind == "budget_exceeded"
    assert sum(isinstance(fact, e.StepScheduled) for fact in whole.facts) == UNWORKED_STEPS_MAX + 1
    assert short.facts == whole.facts


def test_a_step_that_waits_for_a_worker_does_not_count_as_one_of_a_circle() -> None:
    names = [f"s{number}" for number in range(UNWORKED_STEPS_MAX + 5)]
    arcs = ", ".join(f"{{ step: {name} }}" for name in names)
    steps = "\n".join(f"- {{ step: {name}, tool: {{ kind: noop }} }}" for name in names)
    driver = Driver(playbook(f"- {{ step: z, next: {{ spec: {{ mode: inclusive }}, arcs: [ {arcs} ] }} }}\n{steps}"))
    assert len(driver.state.runs) == len(names)


LATER = """
- name: a
  kind: python
  code: x
  spec:
    policy:
      rules:
        - { when: "{{ output.error.kind == 'later' }}", then: { do: retry, delay: 3600 } }
        - else: { then: { do: fail } }
"""


def waiting(count: int, kind: type[Driver]) -> Driver:
    """All iterations but the last wait for a timer."""
    loop = """loop: { in: "{{ range(%d) | list }}", iterator: x, spec: { mode: parallel, max_in_flight: 999 } }"""
    outputs = [*[fails("later")] * (count - 1), fails("never")]
    driver = kind(pipeline(LATER, step=loop % count), Answers(a=outputs))
    for index in range(count):
        for _ in range(3 if index < count - 1 else 2):
            driver.move(driver.state.runs["s#1"], (index,))
    return driver


def test_the_waiting_iterations_of_a_loop_that_stops_are_ended_in_parts() -> None:
    count = 2 * ENDED_AT_ONCE_MAX + 11
    short, whole = waiting(count, Short), waiting(count, Driver)
    for driver in (short, whole):
        driver.move(driver.state.runs["s#1"], (count - 1,))
    assert whole.state.status == "failed"
    assert list(short.timers)[-1] == "continue"
    assert sizes(short) == [ENDED_AT_ONCE_MAX, ENDED_AT_ONCE_MAX, 10 + 4]
    assert short.facts == whole.facts
    assert short.state.status == "failed"
    assert short.timers == {}
