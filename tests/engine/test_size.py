"""No event is larger than the limit, whatever it is made of, and nothing is lost by it."""

import sys

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noetl.engine import events as e
from noetl.engine.codec import StoredEvent, decode, encode, unseal
from noetl.engine.cursor import Cursor, Frame
from noetl.engine.envelope import Event, stamp
from noetl.engine.gathering import Gathered, Intervals
from noetl.engine.output import Error, Loop, Output, Status, failed
from noetl.engine.reference import External, Gone, Reference, ReferenceMeta, decode_value, encode_value
from noetl.engine.size import (
    PAYLOAD_BYTES_MAX,
    PAYLOAD_BYTES_MIN,
    TEXT_CHARS_MAX,
    Fitted,
    Spill,
    as_stored,
    fit,
    hydrate,
    inline_bytes_max,
    owner_of,
    recorded,
    store,
    stored_in,
    ttl_of,
)
from noetl.errors import TemplateError
from noetl.playbook.model import Directive, LoopMode
from tests.engine.generated import as_read, facts

ENVELOPE_BYTES_MAX = 1024

LARGE = st.one_of(
    st.integers(0, 9).map(lambda size: "x" * 500 * size),
    st.integers(0, 9).map(lambda size: {f"k{number}": number for number in range(50 * size)}),
    st.integers(0, 9).map(lambda size: [{"$noetl": "ref"}] * 20 * size),
    st.sampled_from([None, 1, "small", Reference("blob", {"sha256": "1"})]),
)


def event(fact: e.Fact) -> Event:
    return stamp([fact], execution_id="x", after=6, timestamp=0.0, parent=None)[0]


def kept(fitted: Fitted) -> dict[str, bytes]:
    return {blob.sha256: blob.data for blob in fitted.blobs}


def restored(fitted: Fitted) -> object:
    """The fact as someone reads it back who has only the log and the store."""
    blobs = kept(fitted)

    def fetch(reference: Reference) -> bytes:
        return blobs[str(reference.locator["sha256"])]

    found = decode(encode(event(fitted.fact), fitted.payload))
    if isinstance(found, StoredEvent):
        found = unseal(found, fetch(found.reference))
    assert isinstance(found, Event)
    assert as_read(found.payload) == as_read(fitted.fact)
    return hydrate(found.payload, fetch)


def without_refs(value: object) -> object:
    """Storing an output's data gives it a reference that it had not: the only trace."""
    if isinstance(value, tuple) and value[0] == "Output":
        return ("Output", {name: without_refs(item) for name, item in value[1].items() if name != "ref"})
    if isinstance(value, tuple):
        return (value[0], without_refs(value[1]))
    if isinstance(value, dict):
        return {key: without_refs(item) for key, item in value.items()}
    return [without_refs(item) for item in value] if isinstance(value, list) else value


@given(facts(LARGE), st.integers(1, 3 * PAYLOAD_BYTES_MIN))
def test_no_event_exceeds_the_limit_and_nothing_is_lost(fact: e.Fact, limit: int) -> None:
    fitted = fit(fact, limit)
    size = len(encode(event(fitted.fact), fitted.payload))
    assert size <= max(limit, PAYLOAD_BYTES_MIN) + ENVELOPE_BYTES_MAX
    assert without_refs(as_read(restored(fitted))) == without_refs(as_read(fact))


@given(facts(LARGE))
def test_what_fits_is_left_alone(fact: e.Fact) -> None:
    fitted = fit(fact, PAYLOAD_BYTES_MIN)
    whole = encode_value(fact)
    if len(whole) <= PAYLOAD_BYTES_MIN:
        assert (fitted.fact, fitted.payload, fitted.blobs) == (fact, whole, ())
    assert (fitted.payload == whole) == (len(whole) <= PAYLOAD_BYTES_MIN)
    assert fit(fitted.fact, PAYLOAD_BYTES_MIN).payload == fitted.payload


def patch(**values: object) -> e.CtxPatched:
    return e.CtxPatched(values, e.PatchOrigin("workflow/a/set", "a#1"))


def test_the_largest_value_goes_first_and_the_others_stay() -> None:
    fitted = fit(patch(big="x" * 50_000, medium="y" * 30_000, small=1))
    assert isinstance(fitted.fact, e.CtxPatched)
    assert isinstance(fitted.fact.patch["big"], External)
    assert fitted.fact.patch["medium"] == "y" * 30_000
    assert len(fitted.blobs) == 1


def test_many_medium_values_together_are_stored_too() -> None:
    fitted = fit(patch(**{f"k{number}": "x" * 5_000 for number in range(100)}))
    assert isinstance(fitted.fact, e.CtxPatched)
    assert sum(isinstance(value, External) for value in fitted.fact.patch.values()) > 80
    assert len({blob.sha256 for blob in fitted.blobs}) == 1


def test_a_reference_says_how_large_the_data_is_and_how_to_check_it() -> None:
    fitted = fit(patch(big="x" * 70_000))
    assert isinstance(fitted.fact, e.CtxPatched)
    value = fitted.fact.patch["big"]
    assert isinstance(value, External)
    assert value.reference.meta.bytes == 70_002
    assert value.reference.meta.sha256 == fitted.blobs[0].sha256


def test_an_output_whose_data_is_stored_has_a_reference() -> None:
    fitted = fit(e.StepDone("a#1", Output(data=list(range(50_000)))))
    assert isinstance(fitted.fact, e.StepDone)
    output = fitted.fact.output
    assert isinstance(output.data, External)
    assert output.ref == output.data.reference


def test_a_tools_own_reference_is_kept_beside_its_data() -> None:
    own = Reference("object_store", {"bucket": "b"})
    fitted = fit(e.StepDone("a#1", Output(data=list(range(50_000)), ref=own)))
    assert isinstance(fitted.fact, e.StepDone)
    assert fitted.fact.output.ref is own


def test_a_fact_that_is_all_structure_is_stored_whole() -> None:
    token = e.Token("a", e.Trigger("step.done", "b", "success", "b#1"))
    fact = e.StepScheduled("a#1", "a", tokens=[token] * 5_000)
    fitted = fit(fact)
    assert len(fitted.payload) < 400
    assert fitted.fact is fact
    assert restored(fitted) == fact


def test_messages_and_tracebacks_are_cut_where_an_event_would_be_too_large() -> None:
    blocks = {"py": {"exception_type": "ValueError", "traceback": "t" * 40_000 + "the end"}}
    error = Error("exception", "m" * 50_000, details={"rows": "d" * 40_000})
    fitted = fit(e.StepFailed("a#1", Output(status=Status.ERROR, error=error, blocks=blocks)))
    assert isinstance(fitted.fact, e.StepFailed)
    output = fitted.fact.output
    assert output.error is not None
    assert len(output.error.message) == TEXT_CHARS_MAX
    assert output.error.message.endswith("m [50000 characters in all]")
    assert output.blocks["py"]["traceback"].startswith("[40007 characters in all] t")  # type: ignore[index]
    assert output.blocks["py"]["traceback"].endswith("the end")  # type: ignore[index]
    assert fitted.blobs == ()


def test_a_long_reason_is_cut() -> None:
    fitted = fit(e.ExecutionCancelled("r" * 100_000))
    assert isinstance(fitted.fact, e.ExecutionCancelled)
    assert fitted.fact.reason is not None
    assert len(fitted.fact.reason) == TEXT_CHARS_MAX


def test_large_text_of_a_process_is_stored_and_its_exit_code_stays() -> None:
    blocks = {"process": {"exit_code": 0, "stdout": "o" * 70_000, "stderr": ""}}
    fitted = fit(e.StepDone("a#1", Output(blocks=blocks)))
    assert isinstance(fitted.fact, e.StepDone)
    process = fitted.fact.output.blocks["process"]
    assert isinstance(process, dict)
    assert process["exit_code"] == 0
    assert isinstance(process["stdout"], External)


def test_what_the_server_goes_on_reducing_stays_in_the_fact() -> None:
    fact = e.IterationDone("a#1", (0,), Output(), reduced={"rows": ["x" * 100] * 1_000})
    fitted = fit(fact)
    assert fitted.fact is fact
    assert restored(fitted) == fact


def test_kept_iterations_are_stored_element_by_element() -> None:
    ended = Intervals([0], [2], [Gathered(["x" * 40_000, "y" * 40_000], reduced={"n": 2})])
    fact = e.LoopStarted("a#1", (), 3, [1, 2, 3], LoopMode.PARALLEL, 2, e.Kept("o", "a#1", ended, 2))
    fitted = fit(fact)
    assert isinstance(fitted.fact, e.LoopStarted)
    assert fitted.fact.kept is not None
    data = fitted.fact.kept.ended.parts[0].data
    assert data is not None
    assert [type(item) for item in data] == [External, str]
    assert restored(fitted) == fact


def test_a_transaction_collects_payloads_and_blobs_in_order() -> None:
    spill = Spill()
    small, large = e.PlaybookProcessed("completed"), patch(big="x" * 70_000)
    found = [spill(small), spill(large), spill(large)]
    assert found[0] is small
    assert [len(payload) < PAYLOAD_BYTES_MAX for payload in spill.payloads] == [True] * 3
    assert len(spill.blobs) == 1


def test_the_data_of_a_loop_is_stored_where_its_reference_is_read() -> None:
    spill = Spill(kept_steps=frozenset({"a"}))
    counts = Loop(1, 1, 0, 0)
    whole = spill(e.LoopDone("a#1", (), Output(data=[1]), counts))
    inner = spill(e.LoopDone("a#1", (0,), Output(data=[1]), counts))
    other = spill(e.LoopDone("b#1", (), Output(data=[1]), counts))
    assert isinstance(whole, e.LoopDone)
    assert whole.output.data == [1]
    assert whole.output.ref is not None
    assert list(spill.blobs) == [whole.output.ref.locator["sha256"]]
    assert [fact.output.ref for fact in (inner, other) if isinstance(fact, e.LoopDone)] == [None, None]


def test_small_data_stays_in_hand() -> None:
    output = Output(data={"rows": 3})
    stored = store(output, limit_bytes=100, always=False)
    assert (stored.output, stored.data, stored.blobs) == (output, output.data, ())


def test_large_data_is_stored_and_still_in_hand_of_the_pipeline() -> None:
    output = Output(data=["x" * 200])
    stored = store(output, limit_bytes=100, always=False)
    assert stored.output.data == output.data
    assert isinstance(stored.data, External)
    assert stored.output.ref == stored.data.reference
    done = e.TaskDone("a#1", (), "a#1.get/1", "get", 1, stored.output, Directive.CONTINUE, 1)
    assert recorded(done, stored).output.data is stored.data
    assert recorded(done, stored).output.ref == stored.output.ref


@pytest.mark.parametrize("data", [None, 1, {"a": 1}])
def test_data_whose_reference_is_read_is_stored_whatever_its_size(data: object) -> None:
    stored = store(Output(data=data), limit_bytes=100, always=True)
    assert stored.data == data
    assert stored.output.ref is not None
    assert stored.blobs[0].data == msgspec.json.encode(data)


def test_a_tool_that_answered_with_a_reference_is_left_alone() -> None:
    own = Output(ref=Reference("object_store", {"bucket": "b"}))
    assert store(own, limit_bytes=100, always=True).output is own


def test_a_cursor_is_hydrated_with_all_its_frames() -> None:
    big = fit(patch(big="x" * 70_000))
    assert isinstance(big.fact, e.CtxPatched)
    own = Reference("blob", {"sha256": "other"})
    cursor = Cursor((Frame(prev=[big.fact.patch["big"]], outputs={"get": {"ref": own}}),), ctx={"a": 1})
    whole = hydrate(cursor, lambda reference: kept(big)[str(reference.locator["sha256"])])
    assert whole == Cursor((Frame(prev=["x" * 70_000], outputs={"get": {"ref": own}}),), ctx={"a": 1})
    assert [reference.meta.bytes for reference in stored_in(cursor)] == [70_002]


def test_data_inside_stored_data_is_put_back_too() -> None:
    inner = fit(patch(big="x" * 70_000))
    assert isinstance(inner.fact, e.CtxPatched)
    outer = fit(patch(both=[inner.fact.patch["big"]] * 300))
    blobs = kept(inner) | kept(outer)
    whole = hydrate(outer.fact, lambda reference: blobs[str(reference.locator["sha256"])])
    assert whole == patch(both=["x" * 70_000] * 300)


@pytest.mark.parametrize(
    ("spec", "size"),
    [
        ({}, PAYLOAD_BYTES_MAX),
        ({"result": {"inline_max_bytes": 100}}, 100),
        ({"result": {"inline_max_bytes": 10**9}}, PAYLOAD_BYTES_MAX),
        ({"result": {}}, PAYLOAD_BYTES_MAX),
    ],
)
def test_the_author_may_want_less_inline_but_not_more_than_an_event_holds(spec: dict[str, object], size: int) -> None:
    assert inline_bytes_max(spec) == size


def test_an_error_output_without_data_is_small() -> None:
    assert fit(e.StepFailed("a#1", failed("connect", "no"))).blobs == ()


def test_what_fits_is_left_as_it_is_up_to_the_last_byte() -> None:
    def fact(size: int) -> e.StepFailed:
        return e.StepFailed("s#1", failed("exception", "x" * size))

    room = PAYLOAD_BYTES_MIN - len(encode_value(fact(0)))
    assert room > TEXT_CHARS_MAX
    assert fit(fact(room), PAYLOAD_BYTES_MIN).fact == fact(room)
    assert fit(fact(room + 1), PAYLOAD_BYTES_MIN).fact != fact(room + 1)


def test_what_fits_after_storing_is_not_stored_whole_up_to_the_last_byte() -> None:
    def fitted(size: int) -> Fitted:
        path = "p" * size  # never stored elsewhere
        return fit(e.CtxPatched({"a": "x" * 5_000}, e.PatchOrigin(path)), PAYLOAD_BYTES_MIN)

    room = PAYLOAD_BYTES_MIN - len(fitted(0).payload)
    assert [len(fitted(size).blobs) for size in (room, room + 1)] == [1, 2]


@pytest.mark.parametrize(("size", "is_stored"), [(98, False), (99, True)])
def test_data_is_stored_only_past_the_limit(size: int, is_stored: bool) -> None:
    found = store(Output(data="x" * size), limit_bytes=100, always=False)
    assert bool(found.blobs) is is_stored


@pytest.mark.parametrize(("size", "blobs"), [(1_022, 1), (1_021, 1)])
def test_values_of_just_the_least_size_are_stored_one_by_one(size: int, blobs: int) -> None:
    patch = {f"k{number}": "x" * size for number in range(4)}
    found = fit(e.CtxPatched(patch, e.PatchOrigin("p")), PAYLOAD_BYTES_MIN)
    assert len(found.blobs) == blobs
    assert isinstance(found.fact, e.CtxPatched)
    stored = [value for value in found.fact.patch.values() if isinstance(value, External)]
    assert len(stored) == (1 if size == 1_022 else 0)


def test_what_stands_for_stored_data_is_not_taken_apart() -> None:
    fact = e.CtxPatched({"a": External(Reference("blob", {}), patch={"t": "x" * 5_000})}, e.PatchOrigin("p"))
    assert fit(fact, PAYLOAD_BYTES_MIN).fact == fact


def test_texts_that_are_no_messages_are_not_cut() -> None:
    path = "p" * (TEXT_CHARS_MAX + 500)
    fact = fit(e.ExecutionRequested(path, "digest", workload={"a": "x" * 5_000}), PAYLOAD_BYTES_MIN).fact
    assert isinstance(fact, e.ExecutionRequested)
    assert fact.path == path
    assert fact.workload != {"a": "x" * 5_000}


@pytest.mark.parametrize(
    ("spec", "ttl"),
    [({}, None), ({"result": {}}, None), ({"result": {"ttl": "24h"}}, "24h"), ({"result": {"ttl": 60}}, "60")],
)
def test_how_long_data_is_kept_is_what_the_author_says(spec: dict[str, object], ttl: str | None) -> None:
    assert ttl_of(spec) == ttl


def test_stored_data_carries_how_long_it_is_kept() -> None:
    stored = store(Output(data=["x" * 200]), limit_bytes=100, always=False, ttl="24h")
    assert isinstance(stored.data, External)
    assert stored.output.ref is not None
    assert [stored.data.reference.meta.ttl, stored.output.ref.meta.ttl] == ["24h", "24h"]


def test_in_the_place_of_data_that_is_gone_stands_what_says_so() -> None:
    lost, kept = (
        store(Output(data="a" * 200), limit_bytes=1, always=False),
        store(Output(data="b" * 200), limit_bytes=1, always=False),
    )
    blobs = {blob.sha256: blob.data for blob in kept.blobs}
    error = TemplateError("over")
    value = {"lost": [lost.data], "kept": [kept.data]}
    found = hydrate(
        value, lambda reference: blobs[str(reference.meta.sha256)], {blob.sha256: error for blob in lost.blobs}
    )
    assert isinstance(found, dict)
    (gone,) = found["lost"]
    assert isinstance(gone, Gone)
    assert (gone.error, found["kept"]) == (error, ["b" * 200])
    done = e.IterationDone("x#1", (0,), Output(data=found))
    assert as_stored(done) == e.IterationDone("x#1", (0,), Output(data={"lost": [lost.data], "kept": ["b" * 200]}))


def test_the_owner_of_stored_data_is_the_step_whose_output_holds_it() -> None:
    one, two = (store(Output(data=letter * 200), limit_bytes=1, always=False).data for letter in "ab")
    assert isinstance(two, External)
    outputs = {"x": {"data": one, "status": "ok"}, "y": {"data": {"in": [two]}}}
    assert owner_of(two.reference, outputs) == "y"
    assert owner_of(Reference("blob", {"sha256": "other"}), outputs) is None


def test_large_data_without_references_is_decoded_and_not_walked_through() -> None:
    data = encode_value([{"id": number} for number in range(10_000)])
    stored = External(Reference("blob", {"sha256": "a"}, meta=ReferenceMeta(sha256="a")))
    calls = 0

    def count(*_: object) -> None:
        nonlocal calls
        calls += 1

    sys.setprofile(count)
    try:
        found = hydrate(stored, lambda _: data)
    finally:
        sys.setprofile(None)
    assert found == decode_value(data)
    assert calls < 1_000
