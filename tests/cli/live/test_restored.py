"""What a state tells of an execution is what its events tell."""

import msgspec
import pytest
from hypothesis import given, settings

from noetl.cli.live.progress import Doing, Progress
from noetl.cli.live.restored import numbers_of, progress_of
from noetl.engine.codec import decode
from noetl.engine.envelope import Event
from noetl.engine.evolve import evolve
from noetl.engine.output import failed
from noetl.engine.program import Program
from noetl.engine.snapshot import decode_snapshot, encode_snapshot
from noetl.engine.state import empty
from noetl.playbook.compile import compile_playbook
from noetl.ports import Summary
from tests.engine import playbooks
from tests.engine.driver import Driver
from tests.engine.histories import FOLDER, names
from tests.engine.laws.cases import Case, cases
from tests.engine.laws.judging import ran, stored
from tests.engine.test_snapshot import Tool


def history(name: str) -> tuple[Program, list[Event]]:
    playbook = compile_playbook((FOLDER / f"{name}.yaml").read_bytes(), f"{name}.yaml").playbook
    assert playbook is not None
    events = [decode(line) for line in (FOLDER / f"{name}.jsonl").read_bytes().splitlines()]
    return Program(playbook), [event for event in events if isinstance(event, Event)]


def unlike(program: Program, events: list[Event]) -> list[tuple[int, object, object]]:
    """At every event, from the state as bytes and back: where steps, counts, times or items are not the same."""
    found: list[tuple[int, object, object]] = []
    told = Progress(program.playbook.metadata.name, events[0].execution_id, list(program.steps))
    state = empty(events[0].execution_id)
    times: dict[int, float] = {}
    for event in events:
        told.see(event)
        evolve(program, state, event.fact)
        times[event.seq] = event.timestamp
        restored = decode_snapshot(encode_snapshot(state))
        assert restored is not None
        shown = {number: times[number] for number in numbers_of(restored)}
        summary = Summary(state.execution_id, "", "", state.status, events[0].timestamp, event.timestamp)
        one, other = facts(progress_of(program, restored, summary, shown)), facts(told)
        if one != other:
            found.append((event.seq, one, other))
    return found


def facts(progress: Progress) -> object:
    return (
        progress.status,
        progress.error,
        progress.output,
        [
            (
                *(line.name, line.mark, line.runs, line.retries, line.done, line.failed, line.total, line.error),
                *(line.started_at, line.ended_at, line.live),
                {path: (each.label, each.item) for path, each in line.running.items()},
            )
            for line in progress.steps.values()
        ],
    )


@pytest.mark.parametrize("name", names())
def test_a_state_tells_of_a_history_what_its_events_tell(name: str) -> None:
    assert unlike(*history(name)) == []


@settings(max_examples=25, deadline=None)
@given(case=cases())
def test_a_state_tells_of_any_world_what_its_events_tell(case: Case) -> None:
    for execution in ran(case).executions.values():
        assert unlike(execution.program, stored(execution)) == []


def doings(progress: Progress) -> list[Doing]:
    """What pipelines are at."""
    own = [step.doing for step in progress.steps.values()]
    inside = [each.doing for step in progress.steps.values() for each in step.running.values()]
    return [doing for doing in (*own, *inside) if doing.text]


def both(driver: Driver) -> tuple[list[Doing], list[Doing]]:
    """By the events, and by the state."""
    told = Progress("x", "x", list(driver.program.steps))
    for event in driver.events:
        told.see(event)
    restored = progress_of(driver.program, driver.state, Summary("x", "", "", "running", 0.0, 0.0), {})
    return doings(told), doings(restored)


def test_a_state_tells_what_retries_and_for_what_reason() -> None:
    refused = msgspec.structs.replace(failed("http", "too many", retryable=True), blocks={"http": {"status": 429}})
    told, restored = both(Driver(playbooks.PAGES, lambda *_: refused).run(moves=10))
    assert told == restored
    assert any(doing.is_retrying and doing.due_at is not None and doing.why == "429" for doing in told)


def test_a_state_tells_which_child_is_waited_for() -> None:
    driver = Driver(playbooks.PARENT, Tool(), playbooks={"other": playbooks.CHILD}).run(moves=1)
    told, restored = both(driver)
    assert told == restored == [Doing("waits for other")]
