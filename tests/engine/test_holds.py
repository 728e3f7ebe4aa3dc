"""Which stored objects a fact refers to, and for how long."""

import pytest

from noetl.engine import events as e
from noetl.engine.gathering import Gathered, Intervals, Write
from noetl.engine.holds import Lasting, extend, needed
from noetl.engine.output import Output
from noetl.engine.reference import External, Reference, ReferenceMeta
from noetl.engine.size import Spill
from noetl.playbook.model import Directive, LoopMode

HOUR_S = 3_600.0


def ref(name: str, ttl: str | None = None) -> Reference:
    return Reference("blob", {"sha256": name}, meta=ReferenceMeta(sha256=name, ttl=ttl))


def data(name: str, ttl: str | None = None) -> External:
    return External(ref(name, ttl))


def done(output: Output, patch: e.Patch = e.NO_PATCH) -> e.TaskDone:
    return e.TaskDone("a#1", (), "a#1.t/1", "t", 1, output, Directive.CONTINUE, None, patch)


def seconds(fact: e.Fact) -> Lasting:
    found: Lasting = {}
    for sha256, ttl_s in needed(fact):
        extend(found, sha256, ttl_s)
    return found


def test_outputs_are_needed_for_as_long_as_their_author_says() -> None:
    output = Output(data=data("big", "1h"), ref=ref("big", "1h"), blocks={"http": {"body": [data("more")]}})
    assert seconds(done(output)) == {"big": HOUR_S, "more": None}


def test_a_time_that_cannot_be_read_is_no_end() -> None:
    assert seconds(done(Output(ref=ref("odd", "soon")))) == {"odd": None}


def test_what_is_passed_on_stays_though_the_output_it_came_from_does_not() -> None:
    patch = e.Patch(ctx={"rows": data("big", "1h")})
    assert seconds(done(Output(data=data("big", "1h")), patch)) == {"big": None}
    assert seconds(e.StepScheduled("b#1", "b", {"rows": [data("big", "1h")]})) == {"big": None}
    assert seconds(e.CtxPatched({"a_ref": ref("big", "1h")}, e.PatchOrigin("p"))) == {"big": HOUR_S}


def test_what_was_written_inside_a_stored_value_is_needed_too() -> None:
    value = External(ref("big"), patch={"inside": data("more"), "other_ref": ref("third", "1h")})
    assert seconds(e.CtxPatched({"a": value}, e.PatchOrigin("p"))) == {"big": None, "more": None, "third": HOUR_S}


def test_a_rerun_needs_what_it_takes_over() -> None:
    seed = e.Seed((), ctx={"a": data("kept", "1h")}, outputs={"fetch": {"data": data("old", "1h")}})
    assert seconds(e.WorkflowStarted("begin", seed)) == {"kept": None, "old": HOUR_S}
    ended = Intervals([0], [2], [Gathered([data("one", "1h"), 2], {"x": Write(data("two", "1h"), 0)})])
    kept = e.Kept("e0", "a#1", ended, 2)
    assert seconds(e.LoopStarted("a#1", (), 3, data("items"), LoopMode.PARALLEL, 2, kept)) == {
        "items": None,
        "one": HOUR_S,
        "two": None,
    }


def test_what_is_not_in_the_store_needs_no_hold() -> None:
    loop = Reference("relational", {"log": "x", "step_run_id": "a#1"})
    assert seconds(done(Output(data=[1, {"sha256": "x"}], ref=loop))) == {}
    assert seconds(done(Output(ref=Reference("blob", {"key": "elsewhere"})))) == {}


@pytest.mark.parametrize(
    ("first", "second", "both"), [(1.0, 2.0, 2.0), (2.0, 1.0, 2.0), (None, 1.0, None), (1.0, None, None)]
)
def test_whoever_needs_an_object_longest_decides(first: float | None, second: float | None, both: float | None) -> None:
    known: Lasting = {}
    extend(known, "x", first)
    extend(known, "x", second)
    assert known == {"x": both}


def test_a_transaction_needs_what_its_facts_name_and_what_it_stores() -> None:
    spill = Spill()
    spill(done(Output(data=1)))
    assert spill.needs == {}
    spill(done(Output(data=data("big", "1h"))))
    assert spill.needs == {"big": HOUR_S}
    spill(e.CtxPatched({"rows": ["x" * 100_000]}, e.PatchOrigin("p")))
    assert spill.needs == {"big": HOUR_S} | dict.fromkeys(spill.blobs, None)
    assert len(spill.blobs) == 1


def test_what_is_stored_with_references_in_it_hides_none_of_them() -> None:
    spill = Spill()
    many = [data(f"{number:064x}", "1h") for number in range(2_000)]
    fitted = spill(done(Output(data=list(many))))
    assert isinstance(fitted, e.TaskDone)
    assert isinstance(fitted.output.data, External)
    assert len(spill.needs) == 2_001
    assert spill.needs[f"{7:064x}"] == HOUR_S
