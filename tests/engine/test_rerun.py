"""A rerun runs what had not succeeded, and nothing else, from a log that needs no other."""

import msgspec
import pytest

from noetl.engine import events as e
from noetl.engine.commands import CancelExecution, Rejection, RequestExecution
from noetl.engine.effects import OfferWork, effects
from noetl.engine.evolve import fold
from noetl.engine.output import Output
from noetl.engine.rerun import Cut
from noetl.engine.state import Tally, empty
from tests.engine.driver import Driver
from tests.engine.rerunning import rerun
from tests.engine.reruns import HEAD, PIECES, Calls, again, deep, half_way, loop, succeeded

FAILED = Cut(failed_iterations=True)

CHAIN = f"""{HEAD}
workload: {{ base: 1 }}
workflow:
  - step: first
    tool: {{ kind: python, code: x, input: {{ n: "{{{{ workload.base }}}}" }} }}
    set: {{ ctx.first: "{{{{ output.data }}}}" }}
    next: {{ arcs: [ {{ step: second }} ] }}
  - step: second
    tool: {{ kind: python, code: x, input: {{ n: "{{{{ ctx.first }}}}" }} }}
    set: {{ ctx.second: "{{{{ output.data }}}}" }}
    next: {{ arcs: [ {{ step: third }} ] }}
  - step: third
    tool: {{ kind: python, code: x, input: {{ a: "{{{{ ctx.second }}}}", b: "{{{{ first.data }}}}" }} }}
"""

FAN = f"""{HEAD}
workflow:
  - step: start
    next: {{ spec: {{ mode: inclusive }}, arcs: [ {{ step: left }}, {{ step: right }} ] }}
  - step: left
    tool: {{ kind: python, code: x }}
    set: {{ ctx.left: "{{{{ output.data }}}}" }}
    next: {{ arcs: [ {{ step: both }} ] }}
  - step: right
    tool: {{ kind: python, code: x }}
    set: {{ ctx.right: "{{{{ output.data }}}}" }}
    next: {{ arcs: [ {{ step: both }} ] }}
  - step: both
    spec: {{ join: all }}
    tool: {{ kind: python, code: x, input: {{ from: "{{{{ input.joined }}}}" }} }}
"""


def test_a_failed_execution_goes_on_where_it_failed() -> None:
    origin = Driver(CHAIN, Calls(lambda name, _: name == "second_task")).run()
    assert origin.state.status == "failed"
    tool = Calls()
    driver = again(CHAIN, origin, Cut(), tool)
    assert driver.state.status == "completed"
    assert tool.made == [
        ("second_task", {"n": "first_task 1"}),
        ("third_task", {"a": "second_task 1", "b": "first_task 1"}),
    ]


def test_the_first_event_names_origin_and_cut() -> None:
    origin = Driver(CHAIN, Calls()).run()
    driver = again(CHAIN, origin, Cut(from_step="second"), Calls())
    first = driver.facts[0]
    assert isinstance(first, e.ExecutionRequested)
    scheduled = [seq for seq, fact in enumerate(origin.facts, 1) if isinstance(fact, e.StepScheduled)]
    assert first.origin == e.Origin("x", scheduled[1], "second")
    assert driver.state.origin == first.origin


def test_from_a_step_that_step_and_what_follows_run_again() -> None:
    origin = Driver(CHAIN, Calls()).run()
    tool = Calls()
    driver = again(CHAIN, origin, Cut(from_step="second"), tool)
    assert tool.names == ["second_task", "third_task"]
    assert driver.state.ctx == {"first": "first_task 1", "second": "second_task 1"}
    assert driver.state.workload == {"base": 1}


def test_runs_are_numbered_on() -> None:
    origin = Driver(CHAIN, Calls()).run()
    driver = again(CHAIN, origin, Cut(from_step="third"), Calls())
    assert [fact.step_run_id for fact in driver.facts if isinstance(fact, e.StepScheduled)] == ["third#2"]


def test_a_branch_that_succeeded_is_not_run_again_and_still_meets_the_other() -> None:
    origin = Driver(FAN, Calls(lambda name, _: name == "right_task")).run()
    assert origin.state.status == "failed"
    tool = Calls()
    driver = again(FAN, origin, Cut(), tool)
    assert driver.state.status == "completed"
    assert tool.names == ["right_task", "both_task"]
    joined = tool.made[1][1]["from"]
    assert isinstance(joined, list)
    assert [source["step"] for source in joined] == ["left", "right"]
    assert driver.state.ctx == {"left": "left_task 1", "right": "right_task 1"}


def test_what_a_run_wrote_that_runs_again_is_undone() -> None:
    origin = Driver(FAN, Calls()).run()
    request = rerun(origin.program, "x", origin.facts, Cut(from_step="left"), now=0.0)
    assert isinstance(request, RequestExecution)
    started = request.seed[0]
    assert isinstance(started, e.WorkflowStarted)
    assert started.seed is not None
    assert dict(started.seed.ctx) == {"right": "right_task 2"}
    assert sorted(token.step for token in started.seed.tokens) == ["both", "left"]


def test_runs_that_were_cancelled_start_again() -> None:
    origin = Driver(FAN, Calls())
    assert origin.work()
    origin.send(CancelExecution())
    tool = Calls()
    driver = again(FAN, origin, Cut(), tool)
    assert driver.state.status == "completed"
    assert tool.names == ["left_task", "right_task", "both_task"]


@pytest.mark.parametrize("mode", ["parallel", "sequential"])
@pytest.mark.parametrize("failure", ["best_effort", "fail_fast"])
def test_only_failed_iterations_run_again(mode: str, failure: str) -> None:
    text = loop(mode, failure)
    origin = Driver(text, Calls(lambda _, given: given.get("item") == 11)).run()
    tool = Calls()
    driver = again(text, origin, Cut(failed_iterations=True), tool)
    assert driver.state.status == "completed", driver.log()
    ran = [given["item"] for name, given in tool.made if name == "work"]
    assert 10 not in ran
    assert 11 in ran
    assert tool.made[-1][1]["all"] == [10, 11, 12, 13]


def test_the_iterations_kept_count_in_the_result() -> None:
    text = loop("parallel", "best_effort")
    origin = Driver(text, Calls(lambda _, given: given.get("item") in (11, 13))).run()
    tool = Calls()
    driver = again(text, origin, Cut(failed_iterations=True), tool)
    assert [given["item"] for name, given in tool.made if name == "work"] == [11, 13]
    assert tool.made[-1] == ("after_task", {"all": [10, 11, 12, 13], "seen": 100 + 10 + 11 + 12 + 13})
    done = next(fact for fact in driver.facts if isinstance(fact, e.LoopDone))
    assert (done.loop.total, done.loop.succeeded, done.loop.failed, done.loop.skipped) == (4, 4, 0, 0)


def test_a_sequential_loop_keeps_what_its_iterations_wrote() -> None:
    text = loop("sequential", "fail_fast")
    origin = Driver(text, Calls(lambda _, given: given.get("item") == 12)).run()
    assert origin.state.status == "failed"
    tool = Calls()
    driver = again(text, origin, Cut(failed_iterations=True), tool)
    assert tool.made[0] == ("work", {"item": 12, "n": 2, "k": 1})
    assert driver.state.ctx["seen"] == 13


def test_only_the_iterations_left_are_offered_as_work() -> None:
    text = loop("parallel", "best_effort")
    origin = Driver(text, Calls(lambda _, given: given.get("item") in (11, 13))).run()
    request = rerun(origin.program, "x", origin.facts, Cut(failed_iterations=True), now=7.0)
    assert isinstance(request, RequestExecution)
    scheduled, started = request.seed[1:]
    assert isinstance(scheduled, e.StepScheduled)
    assert scheduled.deadline_at == 57.0
    assert isinstance(started, e.LoopStarted)
    assert started.kept is not None
    assert (started.kept.execution_id, started.kept.step_run_id) == ("x", "each#1")
    driver = Driver(text, Calls(), request=("y", request))
    offered = effects(driver.program, driver.state, started, 0.0)
    assert offered == [OfferWork("each#2", (), 4, 2, (1, 3))]


COUNTING = f"""{HEAD}
workflow:
  - step: count
    tool:
      - {{ name: a, kind: python, code: x, set: {{ ctx.n: "{{{{ ctx.n | default(0) + 1 }}}}" }} }}
      - {{ name: b, kind: python, code: x, set: {{ ctx.n: "{{{{ ctx.n + 1 }}}}" }} }}
"""


def test_what_a_run_that_was_cancelled_had_written_is_undone() -> None:
    """It writes it again: a counter would count twice."""
    origin = half_way(COUNTING, Calls(), 1)
    assert origin.state.ctx == {"n": 1}
    driver = again(COUNTING, origin, Cut(), Calls())
    assert driver.state.ctx == {"n": 2}


def test_the_workload_is_asked_for_as_it_was_given() -> None:
    origin = Driver(CHAIN, Calls(), {"extra": 2}).run()
    request = rerun(origin.program, "x", origin.facts, Cut("third"), now=0.0)
    assert isinstance(request, RequestExecution)
    assert request.workload == {"extra": 2}


def test_a_rerun_of_a_rerun_keeps_what_both_did() -> None:
    text = loop("parallel", "best_effort")
    first = Driver(text, Calls(lambda _, given: given.get("item") in (11, 13))).run()
    second = again(text, first, Cut(failed_iterations=True), Calls(lambda _, given: given.get("item") == 13))
    tool = Calls()
    third = again(text, second, Cut(failed_iterations=True), tool)
    assert [given["item"] for name, given in tool.made if name == "work"] == [13]
    assert tool.made[-1][1] == {"all": [10, 11, 12, 13], "seen": 146}
    assert third.state.status == "completed"


def test_a_loop_that_succeeded_as_a_whole_has_no_failed_iterations() -> None:
    text = loop("parallel", "best_effort")
    plain = Driver(text, Calls()).run()
    mended = again(text, Driver(text, Calls(lambda _, given: given.get("item") == 11)).run(), FAILED, Calls())
    for driver in (plain, mended):
        answer = rerun(driver.program, "x", driver.facts, FAILED, now=0.0)
        assert answer == Rejection("unknown", "execution x has no loop with failed iterations")


TWICE = f"""{HEAD}
workflow:
  - step: start
    next: {{ spec: {{ mode: inclusive }}, arcs: [ {{ step: work }}, {{ step: other }} ] }}
  - step: other
    tool: {{ kind: python, code: x }}
    next: {{ arcs: [ {{ step: work }} ] }}
  - step: work
    tool: {{ kind: python, code: x }}
"""


def test_of_a_step_that_ran_twice_only_the_last_run_is_run_again() -> None:
    origin = Driver(TWICE, Calls()).run()
    assert origin.state.counts["work"] == 2
    tool = Calls()
    driver = again(TWICE, origin, Cut("work"), tool)
    assert tool.names == ["work_task"]
    assert driver.state.counts["work"] == 3


NESTED = """
      loop:
        in: [1, 2]
        iterator: part
"""


@pytest.mark.parametrize("mode", ["parallel", "sequential"])
@pytest.mark.parametrize("inner", ["parallel", "sequential"])
def test_of_an_outer_iteration_only_the_failed_inner_ones_run_again(mode: str, inner: str) -> None:
    text = loop(mode, "best_effort", f"{NESTED}        spec: {{ mode: {inner} }}\n", "iter.parent.item")
    fails = Calls(lambda _, given: given.get("item") == 11 and given.get("n") == 1)
    origin = Driver(text, fails).run()
    tool = Calls()
    driver = again(text, origin, Cut(failed_iterations=True, from_step="each"), tool)
    assert driver.state.status == "completed", driver.log()
    assert [(given["item"], given["n"]) for name, given in tool.made if name == "work"] == [(11, 1)]
    assert tool.made[-1][1]["all"] == [[10, 10], [11, 11], [12, 12], [13, 13]]


@pytest.mark.parametrize("failure", ["best_effort", "fail_fast"])
def test_only_the_innermost_iterations_that_failed_run_again_however_deep(failure: str) -> None:
    text = deep(failure)
    origin = Driver(text, Calls(lambda _, given: given.get("item") in ([11, 2, 4], [13, 1, 3]))).run()
    tool = Calls()
    driver = again(text, origin, Cut(failed_iterations=True), tool)
    assert driver.state.status == "completed", driver.log()
    assert [given["item"] for name, given in tool.made if name == "work"] == succeeded(driver)
    assert sorted([*succeeded(origin), *succeeded(driver)], key=str) == PIECES
    nested = [[[piece for piece in PIECES if piece[:2] == [item, part]] for part in (1, 2)] for item in (11, 12, 13)]
    assert tool.made[-1][1]["all"] == [[], *nested]


GROWING = f"""{HEAD}
workflow:
  - step: each
    loop: {{ in: [1, 2], iterator: item, loop: {{ in: [a, b], iterator: part }} }}
    tool:
      kind: python
      code: x
      input: {{ item: "{{{{ iter.parent.item ~ iter.part }}}}" }}
      set: {{ ctx.seen: "{{{{ (ctx.seen | default([])) + [output.data] }}}}" }}
"""


def test_what_an_inner_loop_wrote_before_it_failed_is_there_when_it_goes_on() -> None:
    origin = Driver(GROWING, Calls(lambda _, given: given["item"] == "2b")).run()
    assert origin.state.ctx == {"seen": ["1a", "1b"]}
    tool = Calls()
    driver = again(GROWING, origin, FAILED, tool)
    assert [given["item"] for _, given in tool.made] == ["2b"]
    assert driver.state.ctx == {"seen": ["1a", "1b", "2a", "2b"]}


def test_what_a_rerun_did_not_come_to_is_still_kept_for_the_next() -> None:
    text = deep("fail_fast")
    wrong = Calls(lambda _, given: given.get("item") in ([11, 1, 4], [12, 2, 4]))
    first = Driver(text, wrong, seed=1).run()
    assert any(fact.path == (2,) for fact in first.facts if isinstance(fact, e.LoopStarted))
    request = rerun(first.program, "x", first.facts, Cut(failed_iterations=True), now=7.0)
    assert isinstance(request, RequestExecution)
    narrow = [
        msgspec.structs.replace(fact, max_in_flight=1) if isinstance(fact, e.LoopStarted) else fact
        for fact in request.seed
    ]
    second = Driver(text, wrong, request=("x", msgspec.structs.replace(request, seed=narrow))).run()
    opened = {fact.path for fact in second.facts if isinstance(fact, e.LoopStarted)}
    assert ((1,) in opened, (2,) in opened) == (True, False)
    third = again(text, second, Cut(failed_iterations=True), Calls())
    assert third.state.status == "completed", third.log()
    assert sorted([*succeeded(first), *succeeded(second), *succeeded(third)], key=str) == PIECES
    kept = next(fact.kept for fact in third.facts if isinstance(fact, e.LoopStarted))
    assert kept is not None
    inside = [inner for started in kept.begun if started.kept is not None for inner in started.kept.begun]
    assert [started.path for started in inside] == [(1, 0), (2, 1)]
    assert {started.step_run_id for started in (*kept.begun, *inside)} == {"each#3"}


@pytest.mark.parametrize(
    ("cut", "message"),
    [
        (Cut(), "execution x has nothing to run again; name a step to run from"),
        (
            Cut(from_step="nowhere"),
            "execution x has no run of step `nowhere` to run from; it ran: first, second, third",
        ),
        (
            Cut(from_step="secnd"),
            "execution x has no run of step `secnd` to run from; it ran: first, second, third; did you mean `second`?",
        ),
        (Cut(failed_iterations=True), "execution x has no loop with failed iterations"),
        (Cut("first", failed_iterations=True), "execution x has no run of step `first` with failed iterations"),
    ],
)
def test_a_rerun_that_means_nothing_is_refused(cut: Cut, message: str) -> None:
    origin = Driver(CHAIN, Calls()).run()
    refused = rerun(origin.program, "x", origin.facts, cut, now=0.0)
    assert isinstance(refused, Rejection)
    assert refused.message == message


def test_iterations_that_failed_and_were_passed_over_are_told_of() -> None:
    text = loop("parallel", "best_effort")
    origin = Driver(text, Calls(lambda _, given: given.get("item") == 11)).run()
    assert origin.state.status == "completed"
    refused = rerun(origin.program, "x", origin.facts, Cut(), now=0.0)
    assert isinstance(refused, Rejection)
    assert refused.message.endswith("; name a step to run from, or run the failed iterations of each")


def test_a_live_execution_is_not_rerun() -> None:
    origin = Driver(CHAIN, Calls())
    refused = rerun(origin.program, "x", origin.facts, Cut("first"), now=0.0)
    assert isinstance(refused, Rejection)
    assert refused.message == "execution x is still running; wait for its end, or cancel it"


def test_an_execution_that_never_started_is_requested_anew() -> None:
    origin = Driver(CHAIN, Calls())
    refused = rerun(origin.program, "x", origin.facts[:1], Cut(), now=0.0)
    assert isinstance(refused, Rejection)
    assert refused.message == "execution x never started a step; run the playbook anew"


DENIED = f"""{HEAD}
workflow:
  - step: start
    next: {{ spec: {{ mode: inclusive }}, arcs: [ {{ step: maybe }}, {{ step: other }} ] }}
  - step: maybe
    spec: {{ policy: {{ admit: {{ rules: [ {{ else: {{ then: {{ allow: false }} }} }} ] }} }} }}
    tool: {{ kind: python, code: x }}
  - step: other
    tool: {{ kind: python, code: x }}
"""


def test_a_skipped_step_stays_skipped_unless_what_led_to_it_runs_again() -> None:
    origin = Driver(DENIED, Calls()).run()
    later = again(DENIED, origin, Cut("other"), Calls())
    assert not any(isinstance(fact, e.StepSkipped) for fact in later.facts)
    whole = again(DENIED, origin, Cut("start"), Calls())
    assert any(isinstance(fact, e.StepSkipped) for fact in whole.facts)


def test_a_seeded_start_is_the_state_that_was_taken_over() -> None:
    token = e.Token("second", e.Trigger("step.done", "first", "success", "first#1"))
    seed = e.Seed((token,), {"a": 1}, {"first": {"data": 1, "ref": None, "status": "ok"}}, {"first": 1}, Output(data=1))
    program = Driver(CHAIN, Calls()).program
    state = fold(program, "y", [e.WorkflowStarted("first", seed)])
    wanted = empty("y")
    wanted.seq, wanted.status, wanted.waiting = 1, "running", [token]
    wanted.ctx, wanted.outputs, wanted.counts, wanted.output = seed.ctx, dict(seed.outputs), {"first": 1}, seed.output
    wanted.ctx_bytes = len('{"a":1}')
    wanted.steps = {"first": Tally("kept")}
    assert state == wanted
