"""JSON of events: exact both ways whatever the data, and kind to other versions."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noetl.engine import events as e
from noetl.engine.codec import StoredEvent, UnknownEvent, decode, decode_fact, encode, is_end, kind_of, unseal
from noetl.engine.envelope import NAMES, Event, stamp
from noetl.engine.output import Output, failed
from noetl.engine.reference import External, Reference, encode_value
from noetl.playbook.model import Directive
from tests.engine.generated import as_read, facts

IDS = [
    *(
        "event_id",
        "execution_id",
        "seq",
        "timestamp",
        "source",
        "name",
        "entity_type",
        "entity_id",
        "status",
        "payload",
    ),
    *("step_run_id", "iteration_id", "task_run_id", "task_label", "attempt", "parent_execution_id", "version"),
]


def event(fact: e.Fact, timestamp: float = 1_772_366_400.25) -> Event:
    return stamp([fact], execution_id="x", after=6, timestamp=timestamp, parent=None)[0]


def shown(fact: e.Fact) -> dict[str, object]:
    found = msgspec.json.decode(encode(event(fact)))
    assert isinstance(found, dict)
    return found


@given(facts(), st.floats(0, 4e9))
def test_an_event_comes_back_as_it_was(fact: e.Fact, timestamp: float) -> None:
    before = event(fact, timestamp)
    after = decode(encode(before))
    assert isinstance(after, Event)
    assert as_read(after) == as_read(before)
    assert encode(after) == encode(before)


@given(facts())
def test_a_fact_is_read_without_its_envelope_as_it_is_with_it(fact: e.Fact) -> None:
    line = encode(event(fact))
    whole = decode(line)
    assert isinstance(whole, Event)
    assert decode_fact(line) == whole.fact


@given(facts())
def test_the_last_event_is_known_by_its_name(fact: e.Fact) -> None:
    assert is_end(encode(event(fact))) is isinstance(fact, e.PlaybookProcessed)
    assert kind_of(encode(event(fact))) is type(fact)


@pytest.mark.parametrize("data", [b"damaged", b"{}", b'{"name": "workflow.renamed"}'])
def test_what_cannot_be_read_is_of_no_kind(data: bytes) -> None:
    assert kind_of(data) is None


@given(facts())
def test_the_payload_may_be_encoded_beforehand(fact: e.Fact) -> None:
    assert encode(event(fact), encode_value(fact)) == encode(event(fact))


def test_every_id_is_there_and_null_where_it_does_not_apply() -> None:
    found = shown(e.StepScheduled("fetch#2", "fetch"))
    assert list(found) == IDS
    assert found["step_run_id"] == found["entity_id"] == "fetch#2"
    assert [found[name] for name in IDS[11:16]] == [None] * 5


def test_a_time_is_text_in_json_and_seconds_in_memory() -> None:
    found = shown(e.WorkflowStarted("fetch"))
    assert found["timestamp"] == "2026-03-01T12:00:00.250000Z"
    again = decode(encode(event(e.WorkflowStarted("fetch"))))
    assert isinstance(again, Event)
    assert again.timestamp == 1_772_366_400.25


def test_unknown_fields_are_ignored() -> None:
    found = shown(e.WorkflowStarted("fetch"))
    found["colour"] = "red"
    found["payload"] = {"entry_step": "fetch", "mood": "good"}
    assert decode(msgspec.json.encode(found)) == event(e.WorkflowStarted("fetch"))


def test_an_unknown_name_is_answered_by_a_value() -> None:
    found = shown(e.WorkflowStarted("fetch")) | {"name": "workflow.sang"}
    line = msgspec.json.encode(found)
    assert decode(line) == UnknownEvent("workflow.sang", 7, "this version knows no event of that name")
    assert decode_fact(line) == decode(line)


def test_a_newer_form_is_answered_by_a_value() -> None:
    found = shown(e.WorkflowStarted("fetch")) | {"version": e.EVENT_VERSION + 1}
    line = msgspec.json.encode(found)
    answer = decode(line)
    assert isinstance(answer, UnknownEvent)
    assert answer.reason == "its form 2 is newer than 1"
    assert decode_fact(line) == answer


def test_an_older_form_is_brought_to_todays() -> None:
    """Had version 0 called the first step `start`, this is how it would be read."""
    found = shown(e.WorkflowStarted("fetch")) | {"version": 0, "payload": {"start": "fetch"}}
    steps = {("workflow.started", 0): lambda payload: {"entry_step": payload["start"]}}
    line = msgspec.json.encode(found)
    assert decode(line, steps) == event(e.WorkflowStarted("fetch"))
    assert decode_fact(line, steps) == e.WorkflowStarted("fetch")


def test_an_older_form_that_did_not_change_is_read_as_it_is() -> None:
    found = shown(e.WorkflowStarted("fetch")) | {"version": 0}
    assert decode(msgspec.json.encode(found)) == event(e.WorkflowStarted("fetch"))


def test_a_payload_that_is_stored_whole_is_opened_with_what_is_stored() -> None:
    fact = e.StepDone("fetch#1", Output(data={"$noetl": "ref"}))
    reference = Reference("blob", {"sha256": "12"})
    line = encode(event(fact), encode_value(External(reference)))
    stored = decode(line)
    assert decode_fact(line) == stored
    assert isinstance(stored, StoredEvent)
    assert stored.reference == reference
    assert unseal(stored, encode_value(fact)) == event(fact)


def test_data_that_looks_like_a_reference_is_data() -> None:
    reference = Reference("blob", {"sha256": "12"})
    lookalike = msgspec.to_builtins(reference)
    fact = e.CtxPatched({"real_ref": reference, "false": lookalike}, e.PatchOrigin("workflow/a/set"))
    after = decode(encode(event(fact)))
    assert isinstance(after, Event)
    assert isinstance(after.payload, e.CtxPatched)
    assert after.payload.patch == {"real_ref": reference, "false": lookalike}
    assert isinstance(after.payload.patch["real_ref"], Reference)
    assert isinstance(after.payload.patch["false"], dict)


@pytest.mark.parametrize("name", sorted(name for name, _ in NAMES.values()))
def test_every_event_of_the_specification_has_a_body(name: str) -> None:
    kinds = {"playbook", "workflow", "step", "task", "loop", "next"}
    assert [entity for known, entity in NAMES.values() if known == name and entity in kinds]


def test_a_cancelled_execution_shows_as_an_error_that_is_cancelled() -> None:
    for fact in (
        e.ExecutionCancelled("enough"),
        e.WorkflowFinished("cancelled", Output()),
        e.PlaybookProcessed("cancelled"),
    ):
        found = shown(fact)
        assert found["status"] == "error"
        assert isinstance(found["payload"], dict)
        assert found["payload"]["status"] == "cancelled"


def test_an_event_is_encoded_in_few_bytes() -> None:
    done = e.TaskDone("a#1", (3,), "a#1[3].get/1", "get", 1, Output(), Directive.CONTINUE, 1)
    assert len(encode(event(done))) < 500


def test_an_output_of_an_error_is_shown_with_its_kind() -> None:
    found = shown(e.StepFailed("a#1", failed("connect", "refused", retryable=True)))
    assert isinstance(found["payload"], dict)
    assert found["payload"]["output"]["error"] == {"kind": "connect", "message": "refused", "retryable": True}
