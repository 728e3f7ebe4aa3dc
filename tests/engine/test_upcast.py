"""Older forms of events are brought to today's, one version at a time."""

from noetl.engine.events import EVENT_VERSION
from noetl.engine.upcast import STEPS, Payload, upcast


def test_each_step_leads_to_the_next_version() -> None:
    def renamed(payload: Payload) -> Payload:
        return {"b": payload["a"]}

    def doubled(payload: Payload) -> Payload:
        return {"b": [payload["b"]] * 2}

    steps = {("e", EVENT_VERSION - 2): renamed, ("e", EVENT_VERSION - 1): doubled}
    assert upcast("e", EVENT_VERSION - 2, {"a": 1}, steps) == {"b": [1, 1]}
    assert upcast("e", EVENT_VERSION - 1, {"b": 1}, steps) == {"b": [1, 1]}


def test_what_has_no_step_stays_as_it_is() -> None:
    assert upcast("other", EVENT_VERSION - 1, {"a": 1}, {}) == {"a": 1}


def test_today_there_is_nothing_older_than_the_first_form() -> None:
    assert {version for _, version in STEPS} == set(range(1, EVENT_VERSION))
