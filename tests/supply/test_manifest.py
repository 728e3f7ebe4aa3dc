"""What the iterations of a loop gave, read back from the log by whole executions."""

import asyncio
from collections.abc import Mapping, Sequence
from hashlib import sha256

import msgspec
import pytest

from noetl.engine import events as e
from noetl.engine.codec import encode
from noetl.engine.envelope import Event, stamp
from noetl.engine.events import Kept
from noetl.engine.gathering import Gathered, Intervals
from noetl.engine.output import Loop, Output, failed
from noetl.engine.reference import External, Gone, Loss, Reference, encode_value
from noetl.engine.size import Blob, store
from noetl.playbook.model import LoopMode
from noetl.ports import Append, Console, ToolCall, Unavailable
from noetl.storage.memory import MemoryResults, MemoryStore
from noetl.supply.manifest import Manifests, ManifestTooLarge, Place, iterations_of, place_of
from noetl.supply.shelf import Shelf, Withheld
from noetl.system import RealSystem
from tests.tools.executing import Ended, execute


class Given:
    """Answers with what it is given, or fails where it is told to. `large` makes it as large as that."""

    async def run(self, call: ToolCall, console: Console) -> Output:  # noqa: ARG002
        if call.input.get("fails"):
            return failed("exception", "as asked")
        large = call.input.get("large", 0)
        assert isinstance(large, int)
        return Output(data={"n": call.input["n"], "text": "x" * large})

    async def close(self) -> None:
        return


def given(text: str) -> Ended:
    return asyncio.run(execute(text, tools={"python": Given()}))


LOOP = """
workflow:
  - step: many
    loop: { in: "{{ range(200) | list }}", iterator: i, spec: { mode: parallel } }
    spec: { policy: { failure: { mode: best_effort } } }
    tool:
      kind: python
      code: ""
      input: { n: "{{ iter.i }}", fails: "{{ iter.i == 7 }}", large: "{{ 100000 if iter.i == 3 else 1000 }}" }
    set: { ctx.all_ref: "{{ output.ref }}" }
    next: { arcs: [ { step: some } ] }
  - step: some
    tool: { kind: resolve, input: { ref: "{{ ctx.all_ref }}", range: { start: 6, stop: 9 } } }
"""


def test_a_range_of_what_a_loop_gave_is_resolved_in_a_later_step() -> None:
    ended = given(LOOP)
    assert ended.status == "completed"
    (last,) = [fact for fact in ended.facts if isinstance(fact, e.WorkflowFinished)]
    x = "x" * 1000
    assert last.output.data == [{"n": 6, "text": x}, None, {"n": 8, "text": x}]


def test_bytes_of_what_a_large_loop_gave_are_those_of_its_json() -> None:
    text = LOOP.replace("start: 6, stop: 9", "start: 1, stop: 20, unit: bytes")
    (last,) = [fact for fact in given(text).facts if isinstance(fact, e.WorkflowFinished)]
    assert last.output.data == '{"n":0,"text":"xxxx'


def test_the_whole_of_what_a_loop_gave_stands_in_index_order() -> None:
    ended = given(LOOP)
    found = asyncio.run(items(ended, loop_reference(ended)))
    assert found == [None if n == 7 else {"n": n, "text": "x" * (100_000 if n == 3 else 1000)} for n in range(200)]


NESTED = """
workflow:
  - step: many
    loop:
      in: "{{ [0, 1, 2] }}"
      iterator: a
      loop: { in: "{{ range(40 if iter.a == 1 else 1) | list }}", iterator: b }
    tool: { kind: python, code: "", input: { n: "{{ [iter.parent.a, iter.b] }}", large: 2000 } }
"""


def test_loops_inside_each_other_give_lists_of_lists() -> None:
    ended = given(NESTED)
    found = asyncio.run(items(ended, loop_reference(ended)))
    indexes = [[[0, 0]], [[1, b] for b in range(40)], [[2, 0]]]
    assert found == [[{"n": each, "text": "x" * 2000} for each in inner] for inner in indexes]


def test_a_loop_that_is_not_in_the_log_is_not_available() -> None:
    ended = given(NESTED)
    with pytest.raises(Unavailable, match="has no loop of other#1"):
        asyncio.run(items(ended, Reference("relational", {"log": ended.execution_id, "step_run_id": "other#1"})))


def test_more_than_fits_in_memory_is_refused() -> None:
    ended = given(NESTED)
    manifests = Manifests(ended.store, Shelf(ended.results, 2**20), bytes_max=50_000)
    with pytest.raises(ManifestTooLarge, match="more than 50000 bytes at once; ask for parts of it with `range`"):
        asyncio.run(manifests.items(place_of(loop_reference(ended))))


def test_a_rerun_has_what_it_took_over_from_its_origin() -> None:
    ended = Intervals([0, 4], [2, 6], [Gathered(None), Gathered(["e", "f"])])
    origin: list[e.Fact] = [started(6), done(0, "a"), done(1, "b"), finished()]
    rerun: list[e.Fact] = [started(6, Kept("first", "many#1", ended, 4)), done(2, "c", "many#2"), finished("many#2")]
    store = asyncio.run(logs({"first": origin, "second": [as_run(fact, "many#2") for fact in rerun]}))
    manifests = Manifests(store, Shelf(MemoryResults(), 2**20))
    place = Place("second", "many#2")
    assert asyncio.run(manifests.items(place)) == ["a", "b", "c", None, "e", "f"]
    assert asyncio.run(manifests.items(place, 1, 3)) == ["b", "c"]
    assert asyncio.run(manifests.items(place, 5)) == ["f"]


def test_what_a_tool_stored_itself_stands_as_its_reference() -> None:
    ref = Reference("blob", {"sha256": "s", "raw": True})
    facts: list[e.Fact] = [started(1), e.IterationDone("many#1", (0,), Output(ref=ref)), finished()]
    store = asyncio.run(logs({"x": facts}))
    assert asyncio.run(Manifests(store, Shelf(MemoryResults(), 2**20)).items(Place("x", "many#1"))) == [ref]


def test_null_stands_as_null_though_its_reference_is_read_and_so_it_is_stored() -> None:
    stored = store(Output(), limit_bytes=1_000, always=True).output
    assert stored.ref is not None
    facts: list[e.Fact] = [started(1), e.IterationDone("many#1", (0,), stored), finished()]
    log = asyncio.run(logs({"x": facts}))
    assert asyncio.run(Manifests(log, Shelf(MemoryResults(), 2**20)).items(Place("x", "many#1"))) == [None]


def test_logs_that_lead_to_each_other_come_to_an_end() -> None:
    kept = Kept("x", "many#1", Intervals([0], [1], [Gathered(None)]), 1)
    store = asyncio.run(logs({"x": [started(1, kept)]}))
    with pytest.raises(Unavailable, match="leads from one log to the next more than 64 times"):
        asyncio.run(Manifests(store, Shelf(MemoryResults(), 2**20)).items(Place("x", "many#1")))


def test_an_event_that_is_stored_whole_is_fetched() -> None:
    facts: list[e.Fact] = [started(1), done(0, "large"), finished()]
    results = MemoryResults()
    store = asyncio.run(logs({"x": facts}, whole=results))
    assert asyncio.run(Manifests(store, Shelf(results, 2**20)).items(Place("x", "many#1"))) == ["large"]


def started(count: int, kept: Kept | None = None) -> e.LoopStarted:
    return e.LoopStarted("many#1", (), count, [], LoopMode.PARALLEL, 10, kept)


def done(index: int, data: object, run: str = "many#1") -> e.IterationDone:
    return e.IterationDone(run, (index,), Output(data=data))


def finished(run: str = "many#1") -> e.LoopDone:
    return e.LoopDone(run, (), Output(), Loop(1, 1, 0, 0))


def as_run(fact: e.Fact, run: str) -> e.Fact:
    return msgspec.structs.replace(fact, step_run_id=run)


async def logs(facts: Mapping[str, Sequence[e.Fact]], whole: MemoryResults | None = None) -> MemoryStore:
    """A store with these logs. With `whole`, the payloads of iterations stand there instead of in their events."""
    store = MemoryStore(RealSystem())
    for execution_id, own in facts.items():
        events = stamp(own, execution_id=execution_id, after=0, timestamp=1.0, parent=None)
        data = [await encoded(event, whole) for event in events]
        await store.commit([Append(execution_id, 0, data)])
    return store


async def encoded(event: Event, whole: MemoryResults | None) -> bytes:
    if whole is None or not isinstance(event.fact, e.IterationDone):
        return encode(event)
    payload = encode_value(event.fact)
    name = sha256(payload).hexdigest()
    await whole.put([Blob(name, payload)])
    return encode(event, encode_value(External(Reference("blob", {"sha256": name}))))


def loop_reference(ended: Ended) -> Reference:
    done = [fact for fact in ended.facts if isinstance(fact, e.LoopDone) and not fact.path]
    assert done[0].output.ref is not None
    assert done[0].output.ref.type == "relational"
    return done[0].output.ref


async def items(ended: Ended, reference: Reference) -> list[object]:
    manifests = Manifests(ended.store, Shelf(ended.results, 2**20))
    return await manifests.items(place_of(reference))


def test_a_shelf_reads_back_the_output_of_a_large_loop() -> None:
    ended = given(LOOP)
    data = loop_output(ended).data
    assert isinstance(data, External)
    found = asyncio.run(Shelf(ended.results, 2**24, iterations_of(ended.store)).hydrated({"all": data}))
    assert isinstance(found, dict)
    assert [row and row["n"] for row in found["all"]] == [None if index == 7 else index for index in range(200)]


def test_only_who_needs_an_output_that_is_too_large_hears_of_it() -> None:
    ended = given(LOOP)
    data = loop_output(ended).data
    assert isinstance(data, External)

    async def refuse(shelf: Shelf, reference: Reference) -> bytes:  # noqa: ARG001
        raise Withheld(reference, Loss("is too large"))

    shelf = Shelf(ended.results, 2**24, refuse)
    left = asyncio.run(shelf.left_of({"all": data, "n": 1}, lambda _reference, loss: loss.error("it")))
    assert not left.is_whole
    assert isinstance(left.value, dict)
    assert isinstance(left.value["all"], Gone)
    assert left.value["n"] == 1
    with pytest.raises(Withheld, match="is too large"):
        asyncio.run(shelf.hydrated(data))


def test_more_than_may_be_read_at_once_is_withheld() -> None:
    ended = given(LOOP)
    data = loop_output(ended).data
    assert isinstance(data, External)
    with pytest.raises(Withheld, match="more than 1000 bytes at once"):
        asyncio.run(Shelf(ended.results, 2**24, iterations_of(ended.store, bytes_max=1_000)).hydrated(data))


def loop_output(ended: Ended) -> Output:
    return next(fact.output for fact in ended.facts if isinstance(fact, e.LoopDone) and not fact.path)
