"""Loops inside loops: parents, outputs, ctx, failure."""

import pytest

from noetl.engine import events as e
from noetl.engine.output import Loop, Output
from noetl.playbook.model import LoopMode
from tests.engine.driver import Driver, fails
from tests.engine.logs import only
from tests.engine.texts import pipeline, run


def echo(name: str, fields: object, given: object) -> Output:  # noqa: ARG001
    assert isinstance(given, dict)
    return Output(data=given["item"])


NEST = """
loop:
  in: "{{ workload.rows }}"
  iterator: row
  spec: { mode: %s, max_in_flight: 2 %s }
  loop:
    in: "{{ row.cells }}"
    iterator: cell
    spec: { mode: %s, max_in_flight: 2 %s }
"""

ROWS = "workload: { rows: [ { cells: [1, 2] }, { cells: [] }, { cells: [3] } ] }"

CELL = '- { name: t, kind: python, code: x, input: { item: "{{ iter.cell }}", up: "{{ iter.parent.index }}" } }'


def nested(
    outer: str = "parallel",
    inner: str = "parallel",
    tasks: str = CELL,
    step: str = "",
    outer_policy: str = "",
    inner_policy: str = "",
) -> str:
    loop = NEST % (outer, outer_policy, inner, inner_policy)
    return pipeline(tasks, step=f"{loop}\n{step}", head=ROWS)


@pytest.mark.parametrize("outer", ["sequential", "parallel"])
@pytest.mark.parametrize("inner", ["sequential", "parallel"])
def test_nested_loops_give_a_list_of_lists_and_know_their_parents(outer: str, inner: str) -> None:
    driver = Driver(nested(outer, inner), echo).run()
    assert driver.data == [[1, 2], [], [3]]
    started = [fact for fact in driver.facts if isinstance(fact, e.LoopStarted)]
    assert [(fact.path, fact.count) for fact in started] == [((), 3), ((0,), 2), ((1,), 0), ((2,), 1)]
    assert started[0].mode is LoopMode(outer)
    assert "loop.done s#1[1] 0+0+0/0 []\nloop.iteration.done s#1[1] []" in driver.log()


@pytest.mark.parametrize("seed", range(4))
def test_max_in_flight_holds_at_each_level(seed: int) -> None:
    driver = Driver(nested(), echo, seed=seed)
    while driver.step():
        run_ = driver.state.runs.get("s#1")
        if run_ is not None and run_.loop is not None:
            inner = [live.loop for live in run_.loop.live.values() if live.loop is not None]
            assert len(inner) <= 2
            assert all(len(loop.live) <= 2 for loop in inner)
    assert driver.data == [[1, 2], [], [3]]


WRITE = '- { name: t, kind: noop, set: { ctx.sum: "{{ (ctx.sum | default(0)) + cell }}" } }'


def test_in_sequential_loops_inside_one_another_each_iteration_sees_what_went_before() -> None:
    driver = run(nested("sequential", "sequential", WRITE))
    assert driver.state.ctx == {"sum": 6}
    assert only(driver.facts, "ctx") == (
        'ctx.patched {"sum":3} by workflow/s/loop[0]\nctx.patched {"sum":6} by workflow/s/loop[2]'
    )


def test_what_a_sequential_loop_inside_a_parallel_one_wrote_is_the_outer_iterations_write() -> None:
    assert run(
        nested("parallel", "sequential", WRITE, outer_policy=", policy: { reduce: { sum: sum } }")
    ).state.ctx == {"sum": 6}
    clash = run(nested("parallel", "sequential", WRITE).replace("cells: [3]", "cells: [4]"))
    assert clash.state.error is not None
    assert "iteration 0 wrote `ctx.sum` and iteration 2 wrote `ctx.sum`" in clash.state.error.message


def test_reducers_at_both_levels_count_what_ctx_had_once() -> None:
    policy = ", policy: { reduce: { sum: sum, all: append } }"
    tasks = '- { name: t, kind: noop, set: { ctx.sum: "{{ cell }}", ctx.all: "{{ cell }}" } }'
    text = nested("parallel", "parallel", tasks, outer_policy=policy, inner_policy=policy)
    text = text.replace(
        "workflow:\n", "workflow:\n  - { step: z, set: { ctx.sum: 100 }, next: { arcs: [ { step: s } ] } }\n"
    )
    assert run(text).state.ctx == {"sum": 106, "all": [1, 2, 3]}


def test_an_inner_reducer_under_a_sequential_loop_goes_on_from_one_outer_iteration_to_the_next() -> None:
    policy = ", policy: { reduce: { sum: sum } }"
    tasks = '- { name: t, kind: noop, set: { ctx.sum: "{{ cell }}" } }'
    driver = run(nested("sequential", "parallel", tasks, inner_policy=policy))
    assert driver.state.ctx == {"sum": 6}
    assert only(driver.facts, "ctx") == (
        'ctx.patched {"sum":3} by workflow/s/loop[0]\nctx.patched {"sum":6} by workflow/s/loop[2]'
    )


def test_an_inner_reducer_under_a_loop_that_reduces_otherwise_gives_it_a_value() -> None:
    tasks = '- { name: t, kind: noop, set: { ctx.best: "{{ cell }}" } }'
    text = nested(
        "parallel",
        "parallel",
        tasks,
        outer_policy=", policy: { reduce: { best: max } }",
        inner_policy=", policy: { reduce: { best: sum } }",
    )
    assert run(text).state.ctx == {"best": 3}


def test_a_clash_inside_an_inner_loop_fails_the_step() -> None:
    tasks = '- { name: t, kind: noop, set: { ctx.x: "{{ cell }}" } }'
    driver = run(nested("sequential", "parallel", tasks, step="spec: { policy: { failure: { mode: best_effort } } }"))
    assert driver.state.error is not None
    assert driver.state.error.kind == "ctx_conflict"


def test_step_is_carried_through_sequential_loops_inside_one_another() -> None:
    tasks = '- { name: t, kind: noop, set: { step.seen: "{{ (step.seen | default([])) + [cell] }}" } }'
    step = 'set: { ctx.seen: "{{ step.seen | default([]) }}" }'
    assert run(nested("sequential", "sequential", tasks, step)).state.ctx == {"seen": [1, 2, 3]}
    assert run(nested("parallel", "sequential", tasks, step)).state.ctx == {"seen": []}


def test_the_arcs_of_nested_sequential_loops_that_failed_see_what_was_written_to_step() -> None:
    tasks = """
    - { name: n, kind: noop, set: { step.last: "{{ cell }}" } }
    - { name: t, kind: python, code: x, input: { item: "{{ cell }}" } }
    """
    step = 'next: { arcs: [ { step: s, when: false }, { step: u, when: "{{ step.last == 1 }}" } ] }'
    text = nested("sequential", "sequential", tasks, step) + "  - { step: u, tool: { kind: noop } }\n"
    assert Driver(text, odd).run().state.status == "completed"


def odd(name: str, fields: object, given: object) -> Output:  # noqa: ARG001
    assert isinstance(given, dict)
    return fails("odd") if given["item"] % 2 else Output(data=given["item"])


def test_best_effort_counts_failures_at_each_level() -> None:
    driver = Driver(
        nested("parallel", "parallel", step="spec: { policy: { failure: { mode: best_effort } } }"), odd
    ).run()
    assert only(driver.facts, "loop.done") == (
        "loop.done s#1[1] 0+0+0/0 []\n"
        "loop.done s#1[0] 1+1+0/2 [null,2]\n"
        "loop.done s#1[2] 0+1+0/1 [null]\n"
        "loop.done s#1 3+0+0/3 [[null,2],[],[null]]"
    )


def test_a_failure_in_an_inner_loop_stops_the_outer_one_and_its_other_inner_loops() -> None:
    driver = Driver(nested("parallel", "parallel"), odd)
    driver.run(2)
    run_ = driver.state.runs["s#1"]
    driver.move(run_, (0, 1))
    driver.run()
    assert only(driver.facts, "loop.iteration", "step.failed") == (
        "loop.iteration.started s#1[0]\n"
        "loop.iteration.started s#1[1]\n"
        "loop.iteration.done s#1[1] []\n"
        "loop.iteration.started s#1[2]\n"
        "loop.iteration.started s#1[0,0]\n"
        "loop.iteration.started s#1[0,1]\n"
        "loop.iteration.failed s#1[0,0] !odd\n"
        "loop.iteration.failed s#1[2] !cancelled\n"
        "loop.iteration.done s#1[0,1] 2\n"
        "loop.iteration.failed s#1[0] !odd\n"
        "step.failed s#1 !odd"
    )


def test_a_failure_ends_what_waits_in_other_inner_loops() -> None:
    tasks = """
    - name: t
      kind: python
      code: x
      input: { item: "{{ cell }}" }
      spec:
        policy:
          on_unmatched: fail
          rules: [ { when: "{{ output.error.kind == 'later' }}", then: { do: retry, delay: 3600 } } ]
    """

    def tool(name: str, fields: object, given: object) -> Output:  # noqa: ARG001
        assert isinstance(given, dict)
        return fails("never") if given["item"] == 2 else fails("later")

    driver = Driver(nested("parallel", "parallel", tasks), tool)
    run_ = driver.state.runs["s#1"]
    for path in ((2, 0), (0, 0), (0, 1)):
        driver.move(run_, path)
        driver.move(run_, path)
        driver.move(run_, path)
    driver.run()
    assert driver.state.status == "failed"
    assert driver.now == 0
    assert (
        only(driver.facts, "loop.iteration.failed", "step.failed")
        == (
            "loop.iteration.failed s#1[0,1] !never\n"
            "loop.iteration.failed s#1[0,0] !cancelled\n"
            "loop.iteration.failed s#1[2,0] !cancelled\n"
            "loop.iteration.failed s#1[0] !never\n"
            "loop.iteration.failed s#1[2] !cancelled\n"
            "step.failed s#1 !never"
        )
        or only(driver.facts, "step.failed") == "step.failed s#1 !never"
    )


def test_an_inner_collection_that_is_no_list_fails_the_step() -> None:
    text = nested("parallel", "parallel").replace("{ cells: [] }", "{ cells: 7 }")
    driver = Driver(text, echo)
    assert only(driver.facts, "loop", "step.failed") == (
        "loop.started s#1 3 parallel 2\n"
        "loop.iteration.started s#1[0]\n"
        "loop.started s#1[0] 2 parallel 2\n"
        "loop.iteration.started s#1[1]\n"
        "step.failed s#1 !loop_collection"
    )


def test_a_nested_in_sees_ctx_with_what_went_before_in_sequential_loops_around_it() -> None:
    text = pipeline(
        '- { name: t, kind: python, code: x, input: { item: "{{ iter.c }}" }, set: { ctx.seen: "{{ iter.c }}" } }',
        step="""
        loop:
          in: "{{ [1] }}"
          iterator: a
          spec: { mode: parallel }
          loop:
            in: "{{ [10, 20] }}"
            iterator: b
            loop: { in: "{{ [ctx.seen | default(0), b] }}", iterator: c }
        """,
    )
    assert Driver(text, echo).run().data == [[[0, 10], [10, 20]]]


CLASH = '- { name: t, kind: noop, set: { "ctx.x": "{{ iter.cell + 10 * iter.parent.index }}" } }'
CLASHING = "workload: { rows: [ { cells: [1] }, { cells: [2, 3] }, { cells: [4, 4, 5] }, { cells: [6] } ] }"


def clashing(mode: str, seed: int) -> Driver:
    step = f"spec: {{ policy: {{ failure: {{ mode: {mode} }} }} }}"
    policy = ", policy: { reduce: { x: last } }"
    text = nested(tasks=CLASH, step=step, outer_policy=policy).replace(ROWS, CLASHING)
    return Driver(text, seed=seed).run()


@pytest.mark.parametrize("seed", range(6))
def test_a_clash_inside_is_told_at_the_end_of_the_loop_whatever_ended_first(seed: int) -> None:
    driver = clashing("best_effort", seed)
    assert only(driver.facts, "step.failed", "loop.iteration.failed").count("!ctx_conflict") == 3
    failed = next(fact for fact in driver.facts if isinstance(fact, e.StepFailed))
    assert failed.output.error is not None
    assert failed.output.error.message.startswith("iteration 0 wrote `ctx.x` and iteration 1 wrote `ctx.x`")
    assert failed.output.loop == Loop(4, 2, 2, 0)
    assert driver.state.error is not None
    assert driver.state.error.kind == "ctx_conflict"


def test_a_clash_inside_stops_a_loop_that_stops_at_the_first_failure() -> None:
    driver = clashing("fail_fast", 1)
    assert only(driver.facts, "step.failed") == "step.failed s#1 !ctx_conflict"
    failed = next(fact for fact in driver.facts if isinstance(fact, e.StepFailed))
    assert failed.output.loop is not None
    assert failed.output.loop.skipped > 0


def test_a_tool_that_speaks_of_a_conflict_fails_only_its_iteration() -> None:
    step = "spec: { policy: { failure: { mode: best_effort } } }"
    driver = Driver(nested(step=step), lambda *_: fails("ctx_conflict")).run()
    assert driver.state.status == "completed"
    assert driver.data == [[None, None], [], [None]]
