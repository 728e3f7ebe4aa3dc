"""Errors of child executions: the first cause once, and where it lies."""

import pytest

from noetl.engine.blame import cause_of, child_error, origin_of
from noetl.engine.events import WorkflowFinished
from noetl.engine.output import NOTHING, Error, failed
from tests.engine.driver import Driver
from tests.engine.texts import Answers, playbook

LEAF = playbook("- { step: load, tool: { name: c, kind: python, code: x } }").replace("path: demo", "path: leaf")


def calling(name: str, path: str) -> str:
    steps = f"- {{ step: ask_{path}, tool: {{ name: call, kind: playbook, path: {path} }} }}"
    return playbook(steps).replace("path: demo", f"path: {name}")


def ended(error: Error | None, status: str = "failed") -> WorkflowFinished:
    return WorkflowFinished(status, NOTHING, error)


def test_the_first_cause_of_three_levels_is_told_once_and_first() -> None:
    driver = Driver(
        calling("top", "middle"),
        Answers(c=failed("x", "no luck")),
        playbooks={"middle": calling("middle", "leaf"), "leaf": LEAF},
    )
    driver.run()
    error = driver.state.error
    assert error is not None
    where = "(in playbook `leaf`, step `load`, task `c`, called by `middle`)"
    assert error.message == f"step `ask_middle` failed and no arc takes it: no luck {where}"
    assert (cause_of(error), error.kind) == ("no luck", "playbook_failed")
    assert origin_of(error) == {
        "playbook": "leaf",
        "execution_id": "x.ask_middle#1.call/1.ask_leaf#1.call/1",
        "step": "load",
        "task": "c",
        "called_by": ["middle"],
    }


@pytest.mark.parametrize(
    ("fact", "kind", "message"),
    [
        (ended(None), "playbook_failed", "it failed (in playbook `p`)"),
        (ended(Error("budget_exceeded", "too deep")), "playbook_failed", "too deep (in playbook `p`)"),
        (ended(Error("x", "no", details=["odd"])), "playbook_failed", "no (in playbook `p`)"),
        (ended(Error("x", "no", details={"origin": 3})), "playbook_failed", "no (in playbook `p`)"),
        (ended(Error("cancelled", "enough"), "cancelled"), "cancelled", "enough (in playbook `p`)"),
    ],
)
def test_an_end_without_a_step_is_told_with_the_playbook(fact: WorkflowFinished, kind: str, message: str) -> None:
    error = child_error("p", "x.s#1.call/1", fact)
    assert (error.kind, error.message) == (kind, message)


def test_a_step_that_failed_without_a_task_is_told_alone() -> None:
    error = child_error("p", "x.s#1.call/1", ended(Error("x", "no", details={"step_run_id": "s#2"})))
    assert error.message == "no (in playbook `p`, step `s`)"


def test_the_callers_of_a_cause_are_told_from_the_inmost_outwards() -> None:
    first = child_error("a", "1", ended(Error("x", "no")))
    third = child_error("c", "3", ended(child_error("b", "2", ended(first))))
    assert third.message == "no (in playbook `a`, called by `b`, called by `c`)"
    assert cause_of(third) == "no"


def test_a_playbook_that_calls_itself_is_told_once_with_how_often() -> None:
    error = child_error("deep", "x", ended(Error("x", "no")))
    for path in ["deep"] * 3 + ["top"]:
        error = child_error(path, "x", ended(error))
    assert error.message == "no (in playbook `deep`, called by `deep` 3 times, called by `top`)"
    assert cause_of(error) == "no"
    origin = origin_of(error)
    assert origin is not None
    assert origin["called_by"] == ["deep", "deep", "deep", "top"]
