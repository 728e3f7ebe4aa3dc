"""The acceptance tests of the specification, and its pagination examples, through the engine with given outputs."""

import pytest

from noetl.engine import events as e
from noetl.engine.size import PAYLOAD_BYTES_MAX
from noetl.playbook.compile import compile_playbook
from noetl.playbook.diagnostics import Severity
from tests.engine.driver import Driver
from tests.engine.logs import only
from tests.engine.scenarios import REFERENCES, Scenario, large, scenarios
from tests.engine.test_spilling import Spilling
from tests.engine.texts import pipeline


@pytest.fixture
def known() -> dict[str, Scenario]:
    return scenarios()


@pytest.mark.parametrize(
    "policy",
    ["[ { when: true, then: { do: continue } } ]", "continue", "{ rules: [ { when: true, then: { set: {} } } ] }"],
)
def test_1_a_policy_that_is_no_object_or_has_no_directive_is_refused(policy: str) -> None:
    found = compile_playbook(pipeline(f"- {{ name: a, kind: noop, spec: {{ policy: {policy} }} }}"), "p.yaml")
    assert any(diagnostic.severity is Severity.ERROR for diagnostic in found.diagnostics)
    assert found.playbook is None


def test_2_a_transient_500_is_retried_as_often_as_allowed_and_then_fails(known: dict[str, Scenario]) -> None:
    driver = known["retry_until_spent"].run()
    assert only(driver.facts, "task.done") == (
        "task.done fetch#1.get/1 !http_status retry to 0\n"
        "task.done fetch#1.get/2 !http_status retry to 0\n"
        "task.done fetch#1.get/3 !http_status retry to 0\n"
        "task.done fetch#1.get/4 !http_status fail"
    )
    assert driver.now == 2 + 4 + 8
    assert driver.state.status == "failed"
    assert driver.state.error is not None
    assert driver.state.error.message == "step `fetch` failed and no arc takes it: the server answered 500"


@pytest.mark.parametrize(("name", "stored"), [("jump_200", "store_200"), ("jump_404", "store_404")])
def test_3_a_jump_routes_by_status(known: dict[str, Scenario], name: str, stored: str) -> None:
    driver = known[name].run()
    assert [line.split()[1] for line in only(driver.facts, "task.started").splitlines()] == [
        "fetch#1.get/1",
        "fetch#1.route/1",
        f"fetch#1.{stored}/1",
    ]
    assert driver.state.status == "completed"


def test_4_pagination_jumps_back_while_there_is_more_and_ends_with_break(known: dict[str, Scenario]) -> None:
    driver = known["streaming_pagination"].run()
    assert driver.state.ctx == {"rows": [f"http://api/3#{page}.{number}" for page in (1, 2, 3) for number in (0, 1)]}
    assert "task.done fetch#1.paginate/3 - break" in driver.log()


@pytest.mark.parametrize("seed", range(6))
def test_5_a_parallel_loop_keeps_to_max_in_flight_and_its_iterations_apart(
    known: dict[str, Scenario], seed: int
) -> None:
    scenario = known["parallel_loop"]
    driver = Driver(scenario.text, scenario.tool, seed=seed)
    most = 0
    while driver.step():
        run = driver.state.runs.get("fetch_all#1")
        most = max(most, len(run.loop.live) if run is not None and run.loop is not None else 0)
    driver.check()
    assert most == 3
    done = next(fact for fact in driver.facts if isinstance(fact, e.LoopDone))
    assert done.output.data == [{"item": item, "mark": item * 10} for item in range(8)]


@pytest.mark.parametrize("seed", range(6))
def test_6_nested_loops_run_in_parallel_around_pages_in_order(known: dict[str, Scenario], seed: int) -> None:
    scenario = known["nested_loops"]
    driver = Driver(scenario.text, scenario.tool, seed=seed).run()
    assert driver.data == [
        [
            {"city": "rome", "hotel": "h1", "rooms": ["http://rome/h1#1.0", "http://rome/h1#1.1"]},
            {"city": "rome", "hotel": "h2", "rooms": [f"http://rome/h2#{page}.{n}" for page in (1, 2) for n in (0, 1)]},
        ],
        [],
        [
            {
                "city": "bern",
                "hotel": "h3",
                "rooms": [f"http://bern/h3#{page}.{n}" for page in (1, 2, 3) for n in (0, 1)],
            }
        ],
    ]


def test_7_exclusive_takes_one_arc_and_inclusive_all_that_are_true(known: dict[str, Scenario]) -> None:
    exclusive, inclusive = known["exclusive"].run(), known["inclusive"].run()
    assert "next.evaluated start#1 [no,yes,?]" in exclusive.log()
    assert exclusive.state.ctx == {"odd": 7}
    assert "next.evaluated start#1 [no,yes,yes]" in inclusive.log()
    assert inclusive.state.ctx == {"odd": 7, "large": 7}


def test_8_events_stay_under_the_payload_limit_and_large_results_are_stored_elsewhere() -> None:
    driver = Spilling(REFERENCES, large).run()
    assert driver.state.status == "completed"
    assert driver.data == 20_000
    assert max(driver.sizes) <= PAYLOAD_BYTES_MAX
    assert max(len(data) for data in driver.history()) < PAYLOAD_BYTES_MAX
    assert sum(len(blob) for blob in driver.store.blobs.values()) > PAYLOAD_BYTES_MAX


def test_the_oldest_pagination_example_runs_once_it_is_migrated(known: dict[str, Scenario]) -> None:
    driver = known["pagination_oldest"].run()
    assert only(driver.facts, "loop.iteration", "loop.done", "step.sch", "workflow.f") == (
        "step.scheduled fetch_all_endpoints#1\n"
        "loop.iteration.started fetch_all_endpoints#1[0]\n"
        "loop.iteration.done fetch_all_endpoints#1[0] -\n"
        "loop.iteration.started fetch_all_endpoints#1[1]\n"
        "loop.iteration.done fetch_all_endpoints#1[1] -\n"
        "loop.done fetch_all_endpoints#1 2+0+0/2 [null,null]\n"
        "step.scheduled validate_results#1\n"
        "workflow.finished completed -"
    )
    fetched = [line.split()[1] for line in only(driver.facts, "task.started").splitlines() if ".fetch_page/" in line]
    assert fetched == [f"fetch_all_endpoints#1[{index}].fetch_page/{page}" for index, page in ((0, 1), (0, 2), (1, 1))]


def test_the_v10_pagination_example_stores_by_status_and_survives_a_busy_server(known: dict[str, Scenario]) -> None:
    driver = known["pagination_v10"].run()
    assert driver.state.status == "completed"
    assert "loop.done fetch_all_endpoints#1 3+0+0/3" in driver.log()
    assert "step.scheduled validate_results#1" in driver.log()
    lines = driver.log().splitlines()
    assert sum("store_404" in line for line in lines if line.startswith("task.done")) == 1
    assert any("fetch_page" in line and " retry " in line for line in lines)
    assert any("store_200" in line and " retry " in line for line in lines)
    assert driver.timers == {}


def test_the_pagination_example_of_march_counts_its_pages(known: dict[str, Scenario]) -> None:
    driver = known["pagination_march"].run()
    assert driver.state.status == "completed"
    assert driver.state.ctx == {"pages": 6}
    assert driver.now == 1
    assert only(driver.facts, "loop.done") == "loop.done fetch_patients#1 2+0+0/2 [null,null]"
