"""What single facts leave behind, seen before anything follows them."""

from noetl.engine import events as e
from noetl.engine.commands import CancelExecution, ExpireStep, RequestExecution
from noetl.engine.evolve import DATA_INLINE_BYTES_MAX, evolve, fold
from noetl.engine.gathering import Gathered, Intervals
from noetl.engine.output import Error, Output
from noetl.engine.reference import External, Reference
from noetl.engine.rerun import Cut
from noetl.engine.state import LoopRun, State
from tests.engine import playbooks
from tests.engine.driver import Driver, fails
from tests.engine.rerunning import rerun
from tests.engine.test_snapshot import Tool
from tests.engine.texts import playbook


def upto(driver: Driver, kind: type[e.Body]) -> State:
    """The state after the first fact of a kind."""
    facts = driver.facts
    last = next(at for at, fact in enumerate(facts) if isinstance(fact, kind))
    return fold(driver.program, "x", facts[: last + 1])


def test_a_refused_request_is_known_before_it_ends() -> None:
    driver = Driver(playbooks.FAN, request=("x", RequestExecution("demo", "", missing=("token",))))
    error = upto(driver, e.RequestEvaluated).error
    assert error is not None
    assert error.kind == "keychain"


def test_what_has_ended_has_the_output_of_its_end_and_nothing_is_left() -> None:
    driver = Driver(playbooks.DOORS)
    assert driver.state.waiting
    evolve(driver.program, driver.state, e.WorkflowFinished("failed", Output(data=9), Error("x", "y")))
    assert (driver.state.output.data, driver.state.waiting, driver.state.runs) == (9, [], {})


def test_a_run_that_has_ended_waits_for_nothing_any_more() -> None:
    driver = Driver(playbooks.PARENT, Tool(), playbooks={"other": playbooks.CHILD}).run(moves=1)
    assert driver.state.runs["ask#1"].is_parked
    driver.send(ExpireStep("ask#1", "timeout"))
    assert not upto(driver, e.StepFailed).runs["ask#1"].is_parked
    driver.send(CancelExecution())


LOOP = playbook("""
- step: each
  spec: { policy: { failure: { mode: best_effort } } }
  loop: { in: [0, 1, 2, 3, 4], iterator: n, spec: { mode: parallel } }
  tool: { kind: python, code: x, input: { n: "{{ iter.n }}" } }
""")


def ended(sizes: dict[int, int], *order: int) -> LoopRun:
    """The loop after iterations that gave texts of these sizes ended in an order."""
    driver = Driver(LOOP)
    for index in order:
        data = "x" * sizes[index]
        for fact in (e.IterationStarted("each#1", (index,)), e.IterationDone("each#1", (index,), Output(data=data))):
            evolve(driver.program, driver.state, fact)
    loop = driver.state.runs["each#1"].loop
    assert loop is not None
    return loop


def test_data_is_kept_up_to_its_bound_and_then_let_go_for_good() -> None:
    half = DATA_INLINE_BYTES_MAX // 2 - 3
    fits = ended({0: half, 2: half}, 0, 2)
    assert fits.data_bytes == DATA_INLINE_BYTES_MAX
    assert [part.data is None for part in fits.ended.parts] == [False, False]
    over = ended({0: half, 2: half + 1}, 0, 2)
    assert [part.data for part in over.ended.parts] == [None, None]
    later = ended({0: half, 2: half + 1, 4: 1}, 0, 2, 4)
    assert [part.data for part in later.ended.parts] == [None, None, None]


def test_an_iteration_whose_tool_stored_its_data_makes_the_loop_a_manifest() -> None:
    stored = Reference("blob", {"key": "x"})
    driver = Driver(LOOP, lambda _name, _fields, given: Output(ref=stored) if given["n"] == 1 else Output(data=1)).run()
    assert driver.state.output.ref is not None
    assert driver.state.output.ref.type == "relational"
    assert driver.state.output.data == External(driver.state.output.ref, holds="list")


def test_a_rerun_goes_on_counting_the_bytes_that_its_origin_kept() -> None:
    origin = Driver(LOOP, lambda _name, _fields, given: Output(data="x" * 100) if given["n"] else fails()).run()
    request = rerun(origin.program, "x", origin.facts, Cut(failed_iterations=True), now=0.0)
    assert isinstance(request, RequestExecution)
    loop = Driver(LOOP, request=("y", request)).state.runs["each#2"].loop
    assert loop is not None
    assert loop.data_bytes == 4 * 103
    assert loop.ended == Intervals([1], [5], [Gathered(["x" * 100] * 4)])


def test_a_loop_of_its_own_carries_no_writes_to_an_iteration_around_it() -> None:
    text = playbook("""
    - step: each
      loop: { in: [0, 1], iterator: n }
      tool: { kind: noop, set: { ctx.n: "{{ iter.n }}" } }
    """)
    driver = Driver(text)
    while not any(isinstance(fact, e.IterationDone) for fact in driver.facts):
        driver.step()
    loop = driver.state.runs["each#1"].loop
    assert loop is not None
    assert loop.overlay == {}
