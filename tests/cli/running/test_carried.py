"""What people are told of a run that goes on."""

from noetl.cli.running.carried import carried, told_carried, told_resumed
from noetl.engine.commands import CancelExecution, RequestExecution
from noetl.engine.rerun import Cut
from tests.engine.driver import Driver
from tests.engine.rerunning import rerun
from tests.engine.reruns import HEAD, Calls, deep, half_way, loop


def told(origin: Driver, cut: Cut | None = None) -> list[str]:
    request = rerun(origin.program, "x", origin.facts, cut or Cut(), now=0.0)
    assert isinstance(request, RequestExecution), request
    return list(told_carried(carried(request.seed)))


def many(count: int) -> str:
    steps = [f"s{number}" for number in range(count)]
    arcs = [f"next: {{ arcs: [ {{ step: {name} }} ] }}" for name in steps[1:]] + [""]
    parts = [
        f"  - step: {name}\n    tool: {{ kind: python, code: x }}\n    {arc}\n"
        for name, arc in zip(steps, arcs, strict=True)
    ]
    return f"{HEAD}\nworkflow:\n{''.join(parts)}"


def test_steps_that_are_kept_and_iterations_that_are_left_are_told() -> None:
    origin = half_way(loop("sequential", "fail_fast"), Calls(), 4)
    assert told(origin) == ["kept: start", "each: 1 of 4 iterations kept, 3 to run"]
    assert told(origin, Cut("each")) == ["kept: start", "begins with: each"]
    assert told(origin, Cut("start")) == ["begins with: start"]


def test_iterations_that_go_on_inside_are_counted() -> None:
    origin = Driver(deep("fail_fast"), Calls(lambda _, given: given.get("item") == [12, 1, 4])).run()
    (_, line) = told(origin)
    assert line.startswith("each: ")
    assert line.endswith(" of them from the middle")


def test_of_many_steps_some_are_named() -> None:
    origin = Driver(many(9), Calls()).run()
    assert told(origin, Cut("s8")) == ["kept: s0, s1, s2, s3, s4, s5 and 2 more", "begins with: s8"]


def test_of_an_execution_that_was_refused_nothing_is_told() -> None:
    assert list(told_carried(carried([]))) == []


def test_a_run_that_is_resumed_goes_on_after_the_last_step_that_ended() -> None:
    driver = Driver(loop("parallel", "fail_fast"), Calls()).run(7)
    done = driver.state.runs["each#1"].loop
    assert done is not None
    assert done.succeeded > 0
    assert told_resumed(driver.state) == f"goes on after start: each ({done.succeeded} of 4 iterations done)"


def test_an_iteration_that_failed_in_a_loop_that_went_on_is_done() -> None:
    driver = Driver(loop("sequential", "best_effort"), Calls(lambda _, given: given.get("item") == 11)).run(7)
    looped = driver.state.runs["each#1"].loop
    assert looped is not None
    assert (looped.succeeded, looped.failed) == (1, 1)
    assert told_resumed(driver.state) == "goes on after start: each (2 of 4 iterations done, 1 failed)"


def test_a_run_that_is_resumed_before_anything_ended_begins_with_what_runs() -> None:
    driver = Driver(many(2), Calls())
    assert told_resumed(driver.state) == "goes on: s0"
    driver.send(CancelExecution())
    assert told_resumed(driver.state) == "goes on after s0"
