"""What templates on a worker see."""

import msgspec

from noetl.engine.cursor import Frame
from noetl.engine.output import Output
from noetl.engine.reference import GONE
from noetl.engine.workerside import Given, Standing, block_loop_scope, seen, task_scope, with_input
from noetl.playbook.model import Dialect
from tests.engine.driver import Driver
from tests.engine.texts import pipeline

TASK = "- { name: a, kind: noop }"
WORDS = {"workload", "ctx", "input", "execution_id", "step", "_prev", "_task", "_attempt"}


def standing(version: str, scratch: dict[str, object] | None = None) -> Standing:
    driver = Driver(pipeline(TASK, version=version))
    run = driver.state.runs["s#1"]
    assert run.cursor is not None
    return Standing(driver.program, Given("x", "s", "s#1", iter=scratch), run.cursor, 0.0, 0.5)


def names(version: str, scratch: dict[str, object] | None = None) -> set[str]:
    its = standing(version, scratch)
    frame = its.cursor.top
    assert isinstance(frame, Frame)
    return set(task_scope(its, frame, its.pipeline(frame).tasks[0], 1))


def test_a_task_sees_the_words_of_its_dialect() -> None:
    assert names("v2") == WORDS
    assert names("v10") == WORDS | {"args"}


def test_a_scope_says_whether_something_in_it_is_gone() -> None:
    its = standing("v2")
    assert GONE not in block_loop_scope(its, {}, (), None)
    torn = msgspec.structs.replace(its, given=msgspec.structs.replace(its.given, is_whole=False))
    assert GONE in block_loop_scope(torn, {}, (), None)
    frame = torn.cursor.top
    assert isinstance(frame, Frame)
    assert GONE in task_scope(torn, frame, torn.pipeline(frame).tasks[0], 1)


def test_iter_is_there_in_a_loop_only() -> None:
    assert names("v2", {"item": 1}) == WORDS | {"iter"}
    its = standing("v2")
    assert "iter" not in block_loop_scope(its, {}, (), None)
    assert block_loop_scope(its, {}, ("n",), {"n": 1})["iter"] == {"n": 1}


def test_an_output_and_an_input_have_the_names_of_the_dialect() -> None:
    assert set(seen(Output(), "noop", Dialect.CANONICAL)) == {"output"}
    assert set(seen(Output(), "noop", Dialect.V10)) == {"output", "outcome"}
    assert with_input({"input": {"a": 1}}, {"b": 2}, Dialect.CANONICAL) == {"input": {"a": 1, "b": 2}}
    laid = with_input({"input": {"a": 1}}, {"b": 2}, Dialect.V10)
    assert laid == {"input": {"a": 1, "b": 2}, "args": {"a": 1, "b": 2}}
