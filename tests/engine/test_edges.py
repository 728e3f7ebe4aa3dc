"""Edges that mutation testing showed to be unguarded: each test fails when its one line is changed."""

import pytest

from noetl.engine import events as e
from noetl.engine import leases
from noetl.engine.commands import ExpireStep, FailPoison, Rejection, Report
from noetl.engine.decide import UNWORKED_STEPS_MAX, Surroundings, transact
from noetl.engine.evolve import DATA_INLINE_BYTES_MAX
from noetl.engine.output import Output
from noetl.engine.reference import External, Reference
from tests.engine.driver import Driver, Stored, fails
from tests.engine.logs import only
from tests.engine.texts import Answers, pipeline, playbook, run

SLOW = '- { step: slow, tool: { name: slow, kind: python, code: x }, set: { ctx.go: "{{ true }}" } }'


def moved(driver: Driver, *steps: str) -> None:
    """Bring these steps to their end, and nothing else."""
    for step in steps:
        while (run_ := driver.state.runs.get(f"{step}#1")) is not None:
            driver.move(run_)


def scheduled(driver: Driver) -> list[str]:
    return [fact.step_run_id for fact in driver.facts if isinstance(fact, e.StepScheduled)]


def test_a_join_does_not_wait_for_a_branch_that_cannot_reach_it() -> None:
    text = playbook(f"""
    - {{ step: start, next: {{ spec: {{ mode: inclusive }}, arcs: [ {{ step: a }}, {{ step: slow }} ] }} }}
    - {{ step: a, tool: {{ kind: noop }}, next: {{ arcs: [ {{ step: j }} ] }} }}
    - {{ step: j, spec: {{ join: all }}, tool: {{ kind: noop }} }}
    {SLOW}
    """)
    driver = Driver(text)
    moved(driver, "a")
    assert scheduled(driver) == ["start#1", "a#1", "slow#1", "j#1"]


def test_a_join_waits_for_a_token_that_is_several_steps_away() -> None:
    text = playbook("""
    - { step: start, next: { spec: { mode: inclusive }, arcs: [ { step: a }, { step: far } ] } }
    - { step: a, tool: { kind: noop }, next: { arcs: [ { step: j } ] } }
    - { step: far, tool: { kind: noop }, next: { arcs: [ { step: nearer } ] } }
    - { step: nearer, tool: { kind: noop }, next: { arcs: [ { step: near } ] } }
    - { step: near, tool: { kind: noop }, next: { arcs: [ { step: j } ] } }
    - { step: j, spec: { join: all }, tool: { kind: noop } }
    """)
    driver = Driver(text)
    moved(driver, "a", "far", "nearer")
    assert "j#1" not in scheduled(driver)
    driver.run()
    assert scheduled(driver)[-1] == "j#1"


def test_a_join_waits_for_a_token_that_stands_at_a_closed_door_before_it() -> None:
    text = playbook(f"""
    - step: start
      next: {{ spec: {{ mode: inclusive }}, arcs: [ {{ step: a }}, {{ step: gate }}, {{ step: slow }} ] }}
    - {{ step: a, tool: {{ kind: noop }}, next: {{ arcs: [ {{ step: j }} ] }} }}
    - step: gate
      spec:
        policy:
          admit:
            rules: [ {{ when: "{{{{ ctx.go | default(false) }}}}", then: {{ allow: true }} }} ]
            on_deny: wait
      tool: {{ kind: noop }}
      next: {{ arcs: [ {{ step: j }} ] }}
    - {{ step: j, spec: {{ join: all }}, tool: {{ kind: noop }} }}
    {SLOW}
    """)
    driver = Driver(text)
    moved(driver, "a")
    assert "j#1" not in scheduled(driver)
    driver.run()
    assert [run_ for run_ in scheduled(driver) if run_.startswith("j")] == ["j#1"]
    assert driver.state.status == "completed"


def test_a_join_in_a_circle_does_not_wait_for_itself() -> None:
    text = playbook(f"""
    - {{ step: start, next: {{ spec: {{ mode: inclusive }}, arcs: [ {{ step: a }}, {{ step: slow }} ] }} }}
    - {{ step: a, tool: {{ kind: noop }}, next: {{ arcs: [ {{ step: j }} ] }} }}
    - step: j
      spec: {{ join: all }}
      tool: {{ kind: noop }}
      next: {{ arcs: [ {{ step: back, when: "{{{{ ctx.never | default(false) }}}}" }} ] }}
    - {{ step: back, tool: {{ kind: noop }}, next: {{ arcs: [ {{ step: j }} ] }} }}
    {SLOW}
    """)
    driver = Driver(text)
    moved(driver, "a")
    assert scheduled(driver)[-1] == "j#1"


LOOP = """
- step: s
  spec: {{ policy: {{ failure: {{ mode: best_effort }} }} }}
  loop: {{ in: [0, 1, 2], iterator: item, spec: {{ mode: {mode} }} }}
  tool:
    - name: work
      kind: python
      code: x
      set: {{ step.last: "{{{{ iter.item }}}}" }}
    - name: check
      kind: python
      code: x
  set: {{ ctx.last: "{{{{ step.last | default('gone') }}}}" }}
"""


@pytest.mark.parametrize(("mode", "last"), [("sequential", 2), ("parallel", "gone")])
def test_what_a_failed_iteration_wrote_to_step_is_carried_on_in_a_sequential_loop_only(mode: str, last: object) -> None:
    driver = Driver(playbook(LOOP.format(mode=mode)), Answers(check=fails())).run()
    assert driver.state.ctx == {"last": last}


@pytest.mark.parametrize(("mode", "carried"), [("sequential", {"last": 0}), ("parallel", {})])
def test_the_end_of_an_iteration_carries_step_in_a_sequential_loop_only(mode: str, carried: object) -> None:
    driver = Driver(playbook(LOOP.format(mode=mode))).run()
    first = next(fact for fact in driver.facts if isinstance(fact, e.IterationDone))
    assert first.step == carried


def is_live(driver: Driver, index: int) -> bool:
    run_ = driver.state.runs.get("s#1")
    return run_ is not None and run_.loop is not None and index in run_.loop.live


def loop_output(*data: object, order: tuple[int, ...] = (0, 1, 2)) -> Output:
    """What a parallel loop gives whose iterations end in this order with this data."""
    text = playbook("""
    - step: s
      loop: { in: [0, 1, 2], iterator: item, spec: { mode: parallel } }
      tool: { name: work, kind: python, code: x, input: { item: "{{ iter.item }}" } }
    """)

    def tool(_name: str, _fields: object, given: object) -> Output:
        assert isinstance(given, dict)
        found = data[given["item"]]
        return found if isinstance(found, Output) else Output(data=found)

    driver = Driver(text, tool)
    for index in (0, 1, 2):
        driver.move(driver.state.runs["s#1"], (index,))
    for index in order:
        while is_live(driver, index):
            driver.move(driver.state.runs["s#1"], (index,))
    return next(fact.output for fact in driver.facts if isinstance(fact, e.LoopDone))


HALF = "x" * (DATA_INLINE_BYTES_MAX // 2)


def test_a_loop_gives_its_data_up_to_the_bound_to_the_byte() -> None:
    room = DATA_INLINE_BYTES_MAX - 2 * 5 - 1 - 2
    assert loop_output(None, None, "x" * room).data == [None, None, "x" * room]
    over = loop_output(None, None, "x" * (room + 1))
    assert over.ref is not None
    assert over.data == External(over.ref, holds="list")


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (0, 2, 1)])
def test_a_loop_past_the_bound_gives_a_reference_and_none_of_the_data(order: tuple[int, int, int]) -> None:
    output = loop_output(HALF, 1, HALF, order=order)
    assert output.ref is not None
    assert output.data == External(output.ref, holds="list")


def test_a_loop_with_data_that_is_stored_elsewhere_gives_a_reference() -> None:
    output = loop_output(1, Output(ref=Reference("blob", {"key": "k"})), 3)
    assert output.ref is not None
    assert output.data == External(output.ref, holds="list")


NESTED = """
- step: s
  loop:
    in: [[0, 1], [2, 3]]
    iterator: row
    spec: { mode: parallel }
    loop: { in: "{{ iter.row }}", iterator: cell, spec: { mode: parallel } }
  tool:
    name: work
    kind: python
    code: x
    spec:
      policy:
        rules:
          - { when: "{{ output.error.retryable | default(false) }}", then: { do: retry, delay: 1000 } }
          - { when: "{{ output.status == 'error' }}", then: { do: fail } }
"""


def test_a_wait_inside_two_loops_ends_where_it_began() -> None:
    answers = Answers(work=[fails(retryable=True), fails(retryable=True), *[Output(data=1)] * 9])
    text = playbook(NESTED)
    driver = Driver(text, answers, seed=3).run()
    assert driver.state.status == "completed"
    assert driver.data == [[1, 1], [1, 1]]


def test_an_iteration_whose_inner_loop_was_stopped_has_failed() -> None:
    driver = Driver(playbook(NESTED), Answers(work=fails()))
    run_ = driver.state.runs["s#1"]
    driver.move(run_, (0, 0))
    driver.move(run_, (1, 0))
    while driver.state.runs:
        path = (1, 0) if "loop.iteration.failed s#1[0,0]" in driver.log() else (0, 0)
        driver.move(run_, path)
    ends = only(driver.facts, "loop.iteration.done", "loop.iteration.failed").splitlines()
    assert [line.split()[:2] for line in ends if line.split()[1] in ("s#1[0]", "s#1[1]")] == [
        ["loop.iteration.failed", "s#1[0]"],
        ["loop.iteration.failed", "s#1[1]"],
    ]
    by_server = [fact.path for fact in driver.facts if isinstance(fact, e.IterationFailed) and fact.by_server]
    assert by_server == [(0,), (1,)]


def test_the_server_opens_outer_iterations_in_its_own_name() -> None:
    driver = Driver(playbook(NESTED))
    opened = [(fact.path, fact.by_server) for fact in driver.facts if isinstance(fact, e.IterationStarted)]
    assert opened == [((0,), True), ((1,), True)]


def test_poison_is_found_by_the_server() -> None:
    driver = Driver(playbook(LOOP.format(mode="parallel")))
    driver.send(FailPoison("s#1", (1,), 5))
    started = [fact for fact in driver.facts if isinstance(fact, e.IterationStarted | e.IterationFailed)]
    assert [fact.by_server for fact in started] == [True, True]


def test_a_step_out_of_time_is_ended_by_the_server() -> None:
    driver = Driver(pipeline("- { name: a, kind: noop }"))
    driver.send(ExpireStep("s#1", "deadline"))
    (failure,) = (fact for fact in driver.facts if isinstance(fact, e.StepFailed))
    assert failure.by_server
    assert failure.output.error is not None
    assert (failure.output.error.kind, failure.output.error.retryable) == ("timeout", True)


def test_a_fact_past_the_end_of_a_pipeline_is_refused() -> None:
    driver = Driver(pipeline("- { name: a, kind: noop }")).run(1)
    run_ = driver.state.runs["s#1"]
    assert run_.cursor is not None
    late = e.TaskStarted("s#1", (), "s#1.a/2", "a", 1, "s#1.a/2")
    answer = transact(driver.program, driver.state, Report("s#1", [late]), Surroundings(0.0, Stored()))
    assert isinstance(answer, Rejection)


def test_steps_without_a_tool_that_lead_in_a_circle_end_the_execution() -> None:
    driver = run(
        playbook("""
        - { step: a, next: { arcs: [ { step: b } ] } }
        - { step: b, next: { arcs: [ { step: a } ] } }
        """)
    )
    assert driver.state.error is not None
    assert driver.state.error.kind == "budget_exceeded"
    assert len(scheduled(driver)) == UNWORKED_STEPS_MAX + 1


def test_a_chain_of_steps_as_long_as_the_bound_is_fine() -> None:
    last = UNWORKED_STEPS_MAX - 1
    steps = [f"- {{ step: s{number}, next: {{ arcs: [ {{ step: s{number + 1} }} ] }} }}" for number in range(last)]
    driver = run(playbook("\n".join([*steps, f"- {{ step: s{last} }}"])))
    assert driver.state.status == "completed"


def test_the_output_is_that_of_the_last_leaf_and_not_of_a_run_whose_token_was_turned_away() -> None:
    text = playbook("""
    - { step: start, next: { spec: { mode: inclusive }, arcs: [ { step: leaf }, { step: mid } ] } }
    - { step: leaf, tool: { name: leaf, kind: python, code: x } }
    - { step: mid, tool: { name: mid, kind: python, code: x }, next: { arcs: [ { step: shut } ] } }
    - step: shut
      spec: { policy: { admit: { rules: [ { else: { then: { allow: false } } } ] } } }
      tool: { kind: noop }
    """)
    driver = Driver(text, Answers(leaf="last", mid="passing"))
    moved(driver, "leaf", "mid")
    assert (driver.state.status, driver.data) == ("completed", "last")


def test_the_output_of_a_failed_execution_is_that_of_the_step_that_failed() -> None:
    driver = run(pipeline("- { name: a, kind: python, code: x }"), a=fails())
    assert driver.state.status == "failed"
    assert driver.state.output.error == fails().error
    assert driver.state.waiting == []


def test_an_execution_knows_its_playbook() -> None:
    driver = run(pipeline("- { name: a, kind: noop }"))
    assert driver.state.digest == driver.playbook.digest


def test_an_arc_that_writes_to_step_alone_changes_no_ctx() -> None:
    driver = run(
        playbook("""
        - { step: a, tool: { kind: noop }, next: { arcs: [ { step: b, set: { step.x: 1 } } ] } }
        - { step: b, tool: { kind: noop } }
        """)
    )
    assert only(driver.facts, "ctx") == ""


CHILD = playbook("- { step: c, tool: { name: inner, kind: python, code: x } }")


def test_rules_after_a_child_see_what_it_was_given() -> None:
    task = '- { name: call, kind: playbook, path: child, input: { n: 4 }, set: { ctx.n: "{{ input.n }}" } }'
    driver = Driver(pipeline(task), playbooks={"child": CHILD}).run()
    assert driver.state.ctx == {"n": 4}


def test_a_child_without_a_version_asks_for_none() -> None:
    driver = Driver(pipeline("- { name: call, kind: playbook, path: child }"), playbooks={"child": CHILD}).run()
    waiting = next(fact for fact in driver.facts if isinstance(fact, e.TaskWaiting))
    assert waiting.child is not None
    assert (waiting.child.version, waiting.child.return_step) == (None, None)


def test_what_comes_back_goes_out_with_a_lease_of_full_length() -> None:
    claimed = leases.claim(
        leases.Work(3, 1, next=3, returned=((1, 2),)),
        worker="w",
        epoch=1,
        now=100.0,
        lease_s=60.0,
        slots=1,
        indexes_max=1,
    )
    assert claimed is not None
    assert claimed[1].expires_at == 160.0


def test_nothing_past_the_range_of_a_lease_can_start() -> None:
    lease = leases.Lease(1, "w", 60.0, slots=2, next=2, stop=2, running=frozenset({1}))
    assert leases.start(leases.Work(3, 2, next=2, leases=(lease,)), 1, 2) is None


def test_a_lost_worker_is_blamed_for_no_more_than_its_slots() -> None:
    lease = leases.Lease(1, "w", 60.0, slots=2, next=1, stop=5, running=frozenset({0}))
    work, _ = leases.expire(leases.Work(5, 2, next=5, leases=(lease,)), 60.0)
    assert work.deliveries == {0: 1, 1: 1}


def test_the_events_of_a_blocks_iterations_carry_the_label_of_the_call() -> None:
    block = "workbook: { each: { loop: { in: [1], iterator: n }, tool: { name: t, kind: noop } } }"
    driver = Driver(pipeline("- { name: call, kind: workbook, task: each }", head=block)).run()
    labels = {event.task_label for event in driver.events if event.name.startswith("loop.iteration")}
    assert labels == {"call"}
    plain = Driver(playbook(LOOP.format(mode="parallel"))).run()
    assert {event.task_label for event in plain.events if event.name.startswith("loop.iteration")} == {None}
