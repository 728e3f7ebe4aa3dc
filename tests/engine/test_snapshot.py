"""A snapshot and what follows it come to the same state as the whole log."""

from collections.abc import Mapping

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings

from noetl.engine.evolve import fold
from noetl.engine.output import Output, failed
from noetl.engine.snapshot import decode_snapshot, encode_snapshot
from noetl.engine.state import STATE_VERSION, State, empty
from tests.engine import playbooks
from tests.engine.driver import Driver
from tests.engine.generated import as_read, record

STATES = record(State)


class Tool:
    """Fails at its second call, so that there is a retry to remember."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, name: str, fields: Mapping[str, object], given: Mapping[str, object]) -> Output:
        self.calls += 1
        if self.calls == 2 and name == "fetch":
            return failed("connect", "refused", retryable=True)
        params = fields.get("params")
        page = params["page"] if isinstance(params, dict) else 0
        return Output(data={"page": page, "$noetl": "ref", "given": given})


TEXTS = [playbooks.PAGES, playbooks.NESTED, playbooks.BLOCKS, playbooks.FAN, playbooks.DOORS, playbooks.PARENT]


@pytest.mark.parametrize("text", TEXTS)
def test_at_every_event_a_snapshot_and_the_rest_come_to_the_same(text: str) -> None:
    driver = Driver(text, Tool(), playbooks={"other": playbooks.CHILD}, seed=1).run()
    assert driver.state.has_ended
    for cut in range(len(driver.facts) + 1):
        before = fold(driver.program, "x", driver.facts[:cut])
        read = decode_snapshot(encode_snapshot(before))
        assert read == before
        assert fold(driver.program, "x", driver.facts[cut:], read) == driver.state


@settings(max_examples=50, suppress_health_check=list(HealthCheck))
@given(STATES)
def test_any_state_survives(state: State) -> None:
    read = decode_snapshot(encode_snapshot(state))
    assert as_read(read) == as_read(state)


def test_a_snapshot_of_another_version_is_ignored() -> None:
    today: dict[str, object] = msgspec.json.decode(encode_snapshot(empty("x")))
    assert decode_snapshot(msgspec.json.encode(today)) == empty("x")
    assert decode_snapshot(msgspec.json.encode(today | {"version": STATE_VERSION + 1})) is None


@pytest.mark.parametrize("data", [b"", b"no snapshot", b'{"version":2}', b'{"version":2,"state":3}'])
def test_a_damaged_snapshot_is_ignored(data: bytes) -> None:
    assert decode_snapshot(data) is None


def test_a_fresh_state_is_small() -> None:
    assert len(encode_snapshot(empty("x"))) < 600
