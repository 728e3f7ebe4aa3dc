"""Loops: the collection taken once, iterations in flight, nested loops, failure, and ctx at the end."""

import pytest

from noetl.engine import events as e
from noetl.engine.commands import FailPoison
from noetl.engine.output import Output
from noetl.engine.reference import External, Reference
from noetl.engine.size import hydrate
from tests.engine.driver import Driver, Stored, fails
from tests.engine.logs import only
from tests.engine.test_spilling import Spilling
from tests.engine.texts import Answers, pipeline, playbook, run

TASK = '- { name: t, kind: python, code: x, input: { item: "{{ item }}" } }'


def looped(spec: str, tasks: str = TASK, step: str = "", items: str = "[1, 2, 3]", head: str = "") -> str:
    loop = f'loop: {{ in: "{{{{ {items} }}}}", iterator: item, spec: {{ {spec} }} }}\n{step}'
    return pipeline(tasks, step=loop, head=head)


def echo(name: str, fields: object, given: object) -> Output:  # noqa: ARG001
    assert isinstance(given, dict)
    return Output(data=given["item"])


def test_a_sequential_loop_runs_its_iterations_one_after_another_in_order() -> None:
    driver = Driver(looped("mode: sequential"), echo).run()
    assert only(driver.facts, "loop") == (
        "loop.started s#1 3 sequential 1\n"
        "loop.iteration.started s#1[0]\n"
        "loop.iteration.done s#1[0] 1\n"
        "loop.iteration.started s#1[1]\n"
        "loop.iteration.done s#1[1] 2\n"
        "loop.iteration.started s#1[2]\n"
        "loop.iteration.done s#1[2] 3\n"
        "loop.done s#1 3+0+0/3 [1,2,3]"
    )
    assert driver.data == [1, 2, 3]


@pytest.mark.parametrize("seed", range(5))
def test_a_parallel_loop_keeps_to_max_in_flight_and_gives_its_data_in_index_order(seed: int) -> None:
    driver = Driver(looped("mode: parallel, max_in_flight: 2", items="range(9) | list"), echo, seed=seed)
    most = 0
    while driver.step():
        loop = driver.state.runs["s#1"].loop if "s#1" in driver.state.runs else None
        most = max(most, len(loop.live) if loop is not None else 0)
    assert most == 2
    assert driver.data == list(range(9))


def test_max_in_flight_may_be_a_template() -> None:
    driver = run(looped("mode: parallel, max_in_flight: '{{ workload.n }}'", head="workload: { n: 7 }"))
    assert "loop.started s#1 3 parallel 7" in driver.log()


@pytest.mark.parametrize("number", ["0", "1.5", "true", "'many'"])
def test_a_max_in_flight_that_is_no_count_fails_the_execution_and_names_the_place(number: str) -> None:
    driver = run(looped("mode: parallel, max_in_flight: '{{ workload.n }}'", head=f"workload: {{ n: {number} }}"))
    assert driver.state.error is not None
    assert driver.state.error.kind == "template"
    assert driver.state.error.message.startswith("playbook.yaml:7:")
    assert "`max_in_flight` must be a whole number of at least 1" in driver.state.error.message


def test_an_empty_collection_is_done_at_once_and_no_worker_sees_it() -> None:
    driver = Driver(looped("mode: parallel", items="[]"))
    assert only(driver.facts, "loop", "step.st", "next") == (
        "loop.started s#1 0 parallel 10\nloop.done s#1 0+0+0/0 []\nnext.evaluated s#1 []"
    )
    assert driver.state.status == "completed"


@pytest.mark.parametrize("mode", ["fail_fast", "best_effort"])
def test_what_is_no_list_fails_the_step_whatever_the_failure_mode(mode: str) -> None:
    step = f"spec: {{ policy: {{ failure: {{ mode: {mode} }} }} }}"
    driver = Driver(looped("mode: parallel", items="{'a': 1}", step=step))
    assert driver.state.error is not None
    assert driver.state.error.kind == "loop_collection"
    assert "`loop.in` of step `s` must give a list, and gave a mapping" in driver.state.error.message


def test_a_collection_that_cannot_be_evaluated_fails_the_execution() -> None:
    driver = Driver(looped("mode: parallel", items="ctx.rows"))
    assert driver.state.error is not None
    assert driver.state.error.kind == "template"
    assert "playbook.yaml:7:" in driver.state.error.message
    assert only(driver.facts, "step") == "step.scheduled s#1"


def over_reference(task: str) -> str:
    return playbook(
        f"""
        - step: first
          tool: {{ name: f, kind: python, code: x, set: {{ ctx.rows_ref: "{{{{ output.ref }}}}" }} }}
          next: {{ arcs: [ {{ step: s }} ] }}
        - step: s
          loop: {{ in: "{{{{ ctx.rows_ref }}}}", iterator: item }}
          tool: {task}
        """
    )


def test_a_reference_to_a_list_is_a_collection() -> None:
    reference = Reference("blob", {"name": "rows"})
    text = over_reference('{ name: t, kind: python, code: x, input: { item: "{{ iter.item }}" } }')
    answers = Answers(f=Output(ref=reference))
    driver = Driver(text, answers, stored=Stored({"rows": ["a", "b"]})).run()
    assert [given["item"] for given in answers.given("t")] == ["a", "b"]
    started = next(fact for fact in driver.facts if isinstance(fact, e.LoopStarted))
    assert started.collection == reference
    missing = Driver(text, Answers(f=Output(ref=reference))).run()
    assert missing.state.error is not None
    assert missing.state.error.kind == "loop_collection"


def test_a_loop_of_a_million_starts_without_looking_at_its_elements() -> None:
    reference = Reference("blob", {"name": "rows"})
    text = over_reference("{ name: t, kind: noop }")
    driver = Driver(text, Answers(f=Output(ref=reference)), stored=Stored({"rows": range(1_000_000)})).run(5)
    loop = driver.state.runs["s#1"].loop
    assert loop is not None
    assert (loop.count, loop.collection) == (1_000_000, reference)


def test_iter_has_the_element_its_index_and_the_count_and_belongs_to_one_iteration() -> None:
    tasks = """
    - { name: a, kind: noop, set: { iter.n: "{{ (iter.n | default(0)) + iter.index }}" } }
    - { name: t, kind: python, code: x, input: { all: "{{ iter }}", count: "{{ count }}" } }
    """
    answers = Answers()
    Driver(looped("mode: parallel", tasks, items="['a', 'b']", head="workload: { count: mine }"), answers).run()
    assert answers.given("t") == [
        {"all": {"item": "a", "index": 0, "count": 2, "n": 0}, "count": "mine"},
        {"all": {"item": "b", "index": 1, "count": 2, "n": 1}, "count": "mine"},
    ]


STEP_TASKS = """
- { name: a, kind: noop, set: { step.n: "{{ (step.n | default(0)) + 1 }}" } }
- { name: t, kind: python, code: x, input: { n: "{{ step.n }}" } }
"""


def test_step_is_carried_on_in_a_sequential_loop_and_each_iterations_own_in_a_parallel_one() -> None:
    step = 'set: { ctx.n: "{{ step.n | default(0) }}" }'
    for mode, seen, after in (("sequential", [1, 2, 3], 3), ("parallel", [1, 1, 1], 0)):
        answers = Answers()
        driver = Driver(looped(f"mode: {mode}", STEP_TASKS, step=step), answers).run()
        assert [given["n"] for given in answers.given("t")] == seen
        assert driver.state.ctx == {"n": after}


CTX_TASKS = """
- { name: a, kind: noop, set: { ctx.sum: "{{ (ctx.sum | default(0)) + item }}" } }
- { name: t, kind: python, code: x, input: { sum: "{{ ctx.sum }}" } }
"""


def test_ctx_is_patched_at_the_end_of_each_iteration_of_a_sequential_loop() -> None:
    answers = Answers()
    driver = Driver(looped("mode: sequential", CTX_TASKS), answers).run()
    assert [given["sum"] for given in answers.given("t")] == [1, 3, 6]
    assert only(driver.facts, "ctx", "loop.iteration.done") == (
        "loop.iteration.done s#1[0] -\n"
        'ctx.patched {"sum":1} by workflow/s/loop[0]\n'
        "loop.iteration.done s#1[1] -\n"
        'ctx.patched {"sum":3} by workflow/s/loop[1]\n'
        "loop.iteration.done s#1[2] -\n"
        'ctx.patched {"sum":6} by workflow/s/loop[2]'
    )


def test_a_parallel_iteration_sees_its_own_writes_and_not_its_siblings() -> None:
    answers = Answers()
    spec = "mode: parallel, policy: { reduce: { sum: sum } }"
    driver = Driver(looped(spec, CTX_TASKS), answers).run()
    assert [given["sum"] for given in answers.given("t")] == [1, 2, 3]
    assert only(driver.facts, "ctx") == 'ctx.patched {"sum":6} by workflow/s/loop'


def test_a_reducer_starts_from_the_value_ctx_had() -> None:
    text = playbook(
        """
        - { step: first, set: { ctx.n: 100, ctx.rows: [0] }, next: { arcs: [ { step: s } ] } }
        - step: s
          loop:
            in: "{{ [1, 2] }}"
            iterator: item
            spec: { mode: parallel, policy: { reduce: { n: sum, rows: append } } }
          tool: { kind: noop, set: { ctx.n: "{{ item }}", ctx.rows: "{{ item }}" } }
        """
    )
    assert run(text).state.ctx == {"n": 103, "rows": [0, 1, 2]}


def test_a_reducer_that_cannot_go_on_from_what_ctx_held_fails_the_step() -> None:
    text = playbook(
        """
        - { step: first, set: { ctx.n: text }, next: { arcs: [ { step: s } ] } }
        - step: s
          loop: { in: "{{ [1, 2] }}", iterator: item, spec: { mode: parallel, policy: { reduce: { n: sum } } } }
          tool: { kind: noop, set: { ctx.n: "{{ item }}" } }
        """
    )
    error = run(text).state.error
    assert error is not None
    assert error.kind == "ctx_conflict"
    assert "`ctx.n` held text before the loop, where `sum` needs a number" in error.message


def test_a_reducer_goes_on_from_what_is_inside_a_value_kept_elsewhere() -> None:
    text = playbook(
        """
        - step: first
          tool: { name: f, kind: python, code: x, set: { ctx.a: "{{ output.data }}" } }
          next: { arcs: [ { step: s } ] }
        - step: s
          loop: { in: "{{ [1, 2] }}", iterator: item, spec: { mode: parallel, policy: { reduce: { a.n: sum } } } }
          tool: { kind: noop, set: { ctx.a.n: "{{ item }}" } }
        """
    )
    driver = Spilling(text, Answers(f=Output(data={"n": 1, "rest": "x" * 10_000}))).run()
    assert hydrate(driver.state.ctx, driver.store.fetch) == {"a": {"n": 4, "rest": "x" * 10_000}}


@pytest.mark.parametrize("mode", ["fail_fast", "best_effort"])
def test_iterations_that_write_different_values_to_one_key_fail_the_step_and_both_are_named(mode: str) -> None:
    step = f"spec: {{ policy: {{ failure: {{ mode: {mode} }} }} }}"
    tasks = '- { name: a, kind: noop, set: { ctx.x: "{{ item }}" } }'
    driver = run(looped("mode: parallel", tasks, step=step))
    assert driver.state.error is not None
    assert driver.state.error.kind == "ctx_conflict"
    assert "iteration 0 wrote `ctx.x` and iteration 1 wrote `ctx.x`" in driver.state.error.message
    assert driver.state.ctx == {}


def test_iterations_may_write_the_same_value_to_one_key() -> None:
    tasks = "- { name: a, kind: noop, set: { ctx.x: 1 } }"
    assert run(looped("mode: parallel", tasks)).state.ctx == {"x": 1}


def test_the_ctx_patches_of_a_failed_iteration_are_dropped_and_its_step_stays() -> None:
    tasks = """
    - { name: a, kind: noop, set: { ctx.last: "{{ item }}", step.seen: "{{ (step.seen | default([])) + [item] }}" } }
    - { name: t, kind: python, code: x }
    """
    step = 'spec: { policy: { failure: { mode: best_effort } } }\nset: { ctx.seen: "{{ step.seen }}" }'
    answers = Answers(t=[Output(data=1), fails(), Output(data=3)])
    driver = Driver(looped("mode: sequential", tasks, step=step), answers).run()
    assert driver.state.ctx == {"last": 3, "seen": [1, 2, 3]}
    assert driver.data == [1, None, 3]
    assert "loop.done s#1 2+1+0/3 [1,null,3]" in driver.log()


def test_fail_fast_starts_no_further_iteration_and_lets_running_ones_end() -> None:
    driver = Driver(looped("mode: parallel, max_in_flight: 2", items="range(5) | list"), Answers(t=fails("crash")))
    driver.run(2)
    run_ = driver.state.runs["s#1"]
    driver.move(run_, (1,))
    driver.run()
    assert only(driver.facts, "loop", "step.failed") == (
        "loop.started s#1 5 parallel 2\n"
        "loop.iteration.started s#1[0]\n"
        "loop.iteration.started s#1[1]\n"
        "loop.iteration.failed s#1[0] !crash\n"
        "loop.iteration.failed s#1[1] !crash\n"
        "step.failed s#1 !crash"
    )
    failed = next(fact for fact in driver.facts if isinstance(fact, e.StepFailed))
    assert failed.loop is not None
    assert (failed.loop.total, failed.loop.failed, failed.loop.skipped) == (5, 2, 3)


WAITING = """
- name: t
  kind: python
  code: x
  input: { item: "{{ item }}" }
  spec: { policy: { rules: [ { when: "{{ output.error.kind == 'later' }}", then: { do: retry, delay: 3600 } } ] } }
"""


def later_or_never(name: str, fields: object, given: object) -> Output:  # noqa: ARG001
    assert isinstance(given, dict)
    return fails("never") if given["item"] == 2 else fails("later")


def test_fail_fast_ends_iterations_that_wait() -> None:
    text = looped("mode: parallel, max_in_flight: 3", WAITING.replace("rules: [", "on_unmatched: fail, rules: ["))
    driver = Driver(text, later_or_never).run()
    assert (
        only(driver.facts, "task.waiting", "loop.iteration.f", "step.failed")
        == (
            "task.waiting s#1[0].t/2 until 3600\n"
            "task.waiting s#1[1].t/2 until 3600\n"
            "loop.iteration.failed s#1[2] !never\n"
            "loop.iteration.failed s#1[0] !cancelled\n"
            "loop.iteration.failed s#1[1] !cancelled\n"
            "step.failed s#1 !never"
        )
        or driver.now == 0
    )
    assert driver.now == 0
    assert driver.timers == {}


def test_an_iteration_that_begins_to_wait_while_the_loop_stops_is_ended() -> None:
    driver = Driver(looped("mode: parallel, max_in_flight: 2", WAITING), later_or_never)
    run_ = driver.state.runs["s#1"]
    for path in ((0,), (0,), (1,)):
        driver.move(run_, path)
    driver.send(FailPoison("s#1", (1,), 5))
    assert driver.state.status == "running"
    driver.move(run_, (0,))
    assert only(driver.facts, "task.waiting", "loop.iteration.f", "step.failed") == (
        "loop.iteration.failed s#1[1] !poison\n"
        "task.waiting s#1[0].t/2 until 3600\n"
        "loop.iteration.failed s#1[0] !cancelled\n"
        "step.failed s#1 !poison"
    )


def test_an_iteration_that_waits_keeps_its_place_in_max_in_flight() -> None:
    driver = Driver(looped("mode: parallel, max_in_flight: 1", WAITING), Answers(t=[fails("later"), Output()])).run()
    assert only(driver.facts, "loop.iteration", "task.waiting").splitlines()[:4] == [
        "loop.iteration.started s#1[0]",
        "task.waiting s#1[0].t/2 until 3600",
        "task.waiting s#1[0].t/2 over",
        "loop.iteration.done s#1[0] -",
    ]


def test_data_that_grows_too_large_is_left_in_the_log_and_referred_to() -> None:
    big = "x" * 40_000
    driver = run(looped("mode: sequential"), t=[Output(data=big), Output(data=big), Output(data=1)])
    output = driver.state.output
    assert output.ref is not None
    assert output.data == External(output.ref, holds="list")
    assert output.ref.locator == {"log": "x", "step_run_id": "s#1", "path": []}
    assert output.loop is not None
    assert output.loop.succeeded == 3


def test_data_that_an_iteration_gave_by_reference_makes_the_loops_one_too() -> None:
    reference = Reference("blob", {"name": "rows"})
    driver = run(looped("mode: sequential"), t=[Output(data=1), Output(ref=reference), Output(data=3)])
    assert driver.state.output.ref is not None
    assert driver.state.output.data == External(driver.state.output.ref, holds="list")


def test_a_loop_without_tasks_gives_nothing_for_each_element() -> None:
    text = playbook('- { step: s, loop: { in: "{{ [1, 2] }}", iterator: item } }')
    driver = run(text)
    assert driver.data == [None, None]


def test_a_loop_step_that_runs_a_second_time_is_a_loop_of_its_own() -> None:
    text = looped(
        "mode: sequential",
        step='set: { ctx.rounds: "{{ (ctx.rounds | default(0)) + 1 }}" }\n'
        'next: { arcs: [ { step: s, when: "{{ ctx.rounds < 2 }}" } ] }',
    )
    driver = Driver(text, echo).run()
    assert only(driver.facts, "loop.done") == "loop.done s#1 3+0+0/3 [1,2,3]\nloop.done s#2 3+0+0/3 [1,2,3]"


def test_a_step_that_times_out_in_a_loop_counts_what_ran_and_ends_its_children() -> None:
    text = pipeline(
        "- { name: call, kind: playbook, path: child }",
        step="""
        loop: { in: "{{ [1, 2, 3] }}", iterator: item, spec: { mode: parallel, max_in_flight: 2 } }
        spec: { policy: { lifecycle: { timeout_s: 9 }, failure: { mode: best_effort } } }
        """,
    )
    child = pipeline(WAITING.replace("{{ item }}", "1"))
    driver = Driver(text, Answers(t=fails("later")), playbooks={"child": child}).run()
    failed = next(fact for fact in driver.facts if isinstance(fact, e.StepFailed))
    assert failed.output.error is not None
    assert failed.output.error.kind == "timeout"
    assert failed.loop is not None
    assert (failed.loop.failed, failed.loop.skipped) == (2, 1)
    assert [each.state.status for each in driver.children.values()] == ["cancelled", "cancelled"]
