"""Stored data that cannot be had, met by a pipeline outside of its templates."""

import pytest

from noetl.engine import cursor as cursors
from noetl.engine import events as e
from noetl.engine.output import Output
from noetl.engine.pipeline import Bound, Record, Run, bind, next_move
from noetl.engine.reference import External, Gone, Loss, Reference
from noetl.engine.workerside import Given
from tests.engine.driver import Driver
from tests.engine.texts import pipeline

LOST = Gone(External(Reference("blob", {})), Loss("was kept for 1h", retryable=True).error_of_step("load"))


def torn(**given: object) -> Given:
    return Given("x", "s", "s#1", is_whole=False, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(("kind", "receives"), [("python, code: x", True), ("http, url: x", False)])
def test_a_tool_does_not_run_with_what_is_gone(kind: str, receives: bool) -> None:
    program = Driver(pipeline(f"- {{ name: a, kind: {kind} }}")).program
    work = next_move(program, cursors.start({}), torn(input={"rows": [LOST]}), now=0.0, draw=0.5)
    assert isinstance(work, Run)
    bound = bind(program, work)
    assert isinstance(bound, Output) is receives
    if isinstance(bound, Output):
        assert bound.error is not None
        assert (bound.error.kind, bound.error.retryable) == ("reference_not_available", True)
        assert "the data of step `load` was kept for 1h; run that step again" in bound.error.message
        assert bound.error.message.endswith(", in the `input` of the step")


def test_a_tool_that_receives_nothing_that_is_gone_runs() -> None:
    program = Driver(pipeline("- { name: a, kind: python, code: x }")).program
    work = next_move(program, cursors.start({}), torn(input={"rows": [1]}, ctx={"x": LOST}), now=0.0, draw=0.5)
    assert isinstance(work, Run)
    assert isinstance(bind(program, work), Bound)


@pytest.mark.parametrize(("item", "kind"), [(LOST, "reference_not_available"), (1, None)])
def test_a_looped_block_cannot_be_called_from_an_iteration_of_which_something_is_gone(item: object, kind: str) -> None:
    text = pipeline(
        "- { name: a, kind: workbook, task: b }",
        head="workbook: { b: { loop: { in: [1], iterator: n }, tool: { kind: noop } } }",
    )
    given = torn(iter={"row": item}, ctx={"x": LOST}, path=(0,))
    move = next_move(Driver(text).program, cursors.start({}), given, now=0.0, draw=0.5)
    assert isinstance(move, Record)
    errors = [fact.output.error for fact in move.facts if isinstance(fact, e.TaskDone)]
    assert [error.kind for error in errors if error is not None] == ([kind] if kind else [])
