"""Looped workbook blocks, seen through what their calls give."""

from noetl.engine import events as e
from noetl.engine.output import Loop, Output
from tests.engine.driver import Driver, fails
from tests.engine.texts import Answers, pipeline

CALL = "- { name: call, kind: workbook, task: each }"

ONE = """
workbook:
  each:
    loop: { in: [1, 2, 3], iterator: number }
    tool: [ { name: work, kind: python, code: x, input: { n: "{{ iter.number }}" } } ]
"""

THREE = """
workbook:
  each:
    loop:
      in: [ [ [1, 2] ], [ [3] ] ]
      iterator: outer
      loop:
        in: "{{ iter.outer }}"
        iterator: middle
        loop: { in: "{{ iter.middle }}", iterator: inner }
    tool:
      - { name: work, kind: python, code: x, input: { n: "{{ iter.inner }}", at: "{{ iter.parent.parent.index }}" } }
"""


def outputs_of_the_call(driver: Driver) -> list[Output]:
    return [fact.output for fact in driver.facts if isinstance(fact, e.TaskDone) and fact.task == "call"]


def test_a_looped_block_counts_its_iterations() -> None:
    driver = Driver(pipeline(CALL, head=ONE), Answers(work=[Output(data=data) for data in "abc"])).run()
    (output,) = outputs_of_the_call(driver)
    assert output.data == ["a", "b", "c"]
    assert output.loop == Loop(3, 3, 0, 0)


def test_a_looped_block_that_stops_at_a_failure_counts_what_it_left_out() -> None:
    driver = Driver(pipeline(CALL, head=ONE), Answers(work=[Output(data="a"), fails()])).run()
    (output,) = outputs_of_the_call(driver)
    assert output.error == fails().error
    assert output.loop == Loop(3, 1, 1, 1)


def test_loops_inside_a_block_nest_as_deep_as_they_are_written() -> None:
    answers = Answers(work=[Output(data=data) for data in "abc"])
    driver = Driver(pipeline(CALL, head=THREE), answers).run()
    assert [output.data for output in outputs_of_the_call(driver)] == [[[["a", "b"]], [["c"]]]]
    assert answers.given("work") == [{"n": 1, "at": 0}, {"n": 2, "at": 0}, {"n": 3, "at": 1}]
