"""The rest of an execution may run another text of its playbook, or the answer says what stands in the way."""

from collections.abc import Mapping

import pytest

from noetl.engine import events as e
from noetl.engine.carrying import Unmoved, unmoved
from noetl.engine.commands import CancelExecution, Rejection, RequestExecution
from noetl.engine.output import Output, failed
from noetl.engine.rerun import Cut
from tests.engine.driver import Driver, nothing
from tests.engine.rerunning import rerun

INNER = """\
      loop: { in: [1, 2], iterator: part, spec: { mode: parallel, max_in_flight: "{{ workload.room }}" } }
"""
TEXT = (
    """
apiVersion: noetl.io/v2
kind: Playbook
metadata: { name: demo, path: demo }
workload: { base: 1, room: 2, url: old }
workflow:
  - step: fetch
    tool: { kind: python, code: x }
    next: { arcs: [ { step: each } ] }
  - step: each
    input: { base: "{{ workload.base }}" }
    loop:
      in: "{{ [10, 11, 12] if workload.base == 1 else [] }}"
      iterator: item
      spec: { mode: parallel, max_in_flight: 2, policy: { reduce: { seen: sum } } }
"""
    + INNER
    + """\
    tool:
      - { name: work, kind: python, code: broken, input: { n: "{{ iter.parent.item + iter.part }}" } }
      - { name: note, kind: noop, set: { ctx.seen: 1 } }
    next: { arcs: [ { step: after } ] }
  - step: after
    tool: { kind: python, code: x, input: { url: "{{ workload.url }}" } }
"""
)


def tool(name: str, fields: Mapping[str, object], given: Mapping[str, object]) -> Output:
    if fields.get("code") == "broken" and given["n"] == 13:
        return failed("exception", "the old code does not know 13")
    return Output(data=given.get("n", given.get("url", name)))


def changed(old: str = "", new: str = "", *, text: str = TEXT) -> str:
    assert old in text
    return text.replace(old, new) if old else text


def asked(origin: Driver, text: str, cut: Cut | None = None) -> RequestExecution | Rejection:
    other = Driver(text, nothing).program
    return rerun(origin.program, "x", origin.facts, cut or Cut(), now=0.0, text=other)


def again(origin: Driver, text: str, cut: Cut | None = None) -> Driver:
    request = asked(origin, text, cut)
    assert isinstance(request, RequestExecution), request
    return Driver(text, tool, request=("y", request)).run()


def half_done() -> Driver:
    origin = Driver(TEXT, tool).run()
    assert origin.state.status == "failed"
    assert any(isinstance(fact, e.IterationDone) for fact in origin.facts)
    return origin


def test_the_rest_runs_the_new_code_and_what_succeeded_does_not_run_again() -> None:
    origin = half_done()
    driver = again(origin, changed("code: broken", "code: mended"))
    assert driver.state.status == "completed", driver.log()
    done = [fact for driver in (origin, driver) for fact in driver.facts if isinstance(fact, e.IterationDone)]
    assert len([fact for fact in done if len(fact.path) == 2]) == 6
    assert not any(isinstance(fact, e.StepScheduled) and fact.step == "fetch" for fact in driver.facts)
    assert driver.state.ctx == {"seen": 3}


def test_the_first_event_tells_both_texts() -> None:
    origin = half_done()
    driver = again(origin, changed("code: broken", "code: mended"))
    first = driver.facts[0]
    assert isinstance(first, e.ExecutionRequested)
    assert first.origin is not None
    assert (first.origin.digest, first.digest) == (origin.playbook.digest, driver.playbook.digest)
    plain = rerun(origin.program, "x", origin.facts, Cut(), now=0.0)
    assert isinstance(plain, RequestExecution)
    assert plain.origin is not None
    assert plain.origin.digest is None


def test_what_the_new_text_says_of_the_workload_holds_unless_another_value_was_given() -> None:
    origin = half_done()
    text = changed("url: old", "url: new", text=changed("code: broken", "code: mended"))
    assert again(origin, text).data == "new"
    given = Driver(TEXT, tool, {"url": "mine"}).run()
    assert again(given, text).data == "mine"


def test_as_many_iterations_run_at_once_as_the_new_text_says() -> None:
    origin = half_done()
    request = asked(origin, changed("max_in_flight: 2", "max_in_flight: 1"))
    assert isinstance(request, RequestExecution)
    started = [fact for fact in request.seed if isinstance(fact, e.LoopStarted)]
    assert [fact.max_in_flight for fact in started] == [1]
    assert started[0].kept is not None
    assert {inside.max_in_flight for inside in started[0].kept.begun} == {2}
    narrow = asked(origin, changed('"{{ workload.room }}"', "1"))
    assert isinstance(narrow, RequestExecution)
    inner = next(fact.kept for fact in narrow.seed if isinstance(fact, e.LoopStarted))
    assert inner is not None
    assert {inside.max_in_flight for inside in inner.begun} == {1}


def test_a_sequential_loop_stays_one_at_a_time() -> None:
    text = changed("mode: parallel, max_in_flight: 2", "mode: sequential, max_in_flight: 2")
    origin = Driver(text, tool).run()
    request = asked(origin, changed("sequential, max_in_flight: 2", "sequential, max_in_flight: 5", text=text))
    assert isinstance(request, RequestExecution)
    assert [fact.max_in_flight for fact in request.seed if isinstance(fact, e.LoopStarted)] == [1]


LOOP = "step `each` is in the middle of its loop, and {}; run it anew with --from each"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("path: demo }", "path: other }", "it is playbook `other`, and the run was of `demo`"),
        ("each", "each_one", "step `each` is to run, and is not there any more"),
        ("each", "eac", "step `each` is to run, and is not there any more; is it `eac` now? Let it keep its name"),
        ("fetch", "get_it", "step `fetch` has run and its output is kept, and is not there any more"),
        ("base == 1", "base == 2", LOOP.format("`in` of the loop is another")),
        ("in: [1, 2]", "in: [1, 3]", LOOP.format("`in` of the loop is another")),
        ("item", "thing", LOOP.format("`iterator` of the loop is another")),
        ("mode: parallel, max_in_flight: 2", "mode: sequential", LOOP.format("`mode` of the loop is another")),
        ("seen: sum", "seen: max", LOOP.format("`reduce` of the loop is another")),
        ("{ workload.room }", "{ workload.base }", LOOP.format("`max_in_flight` of the loop is another template")),
        ("input: { base:", "input: { other:", LOOP.format("its `input` is another")),
        (
            INNER,
            "",
            LOOP.format("its loops are 1 deep where they were 2 deep"),
        ),
    ],
)
def test_what_cannot_be_carried_over_is_refused_with_what_differs(old: str, new: str, message: str) -> None:
    text = changed(old, new)
    if new == "":
        text = changed("{{ iter.parent.item + iter.part }}", "{{ iter.item }}", text=text)
    assert asked(half_done(), text) == Rejection("changed", message)


def test_a_playbook_in_other_words_is_refused() -> None:
    old = changed("noetl.io/v2", "noetl.io/v10")
    origin = Driver(old, tool).run()
    assert asked(origin, TEXT) == Rejection(
        "changed", "it is written in the words of canonical, and the run was of v10"
    )


def test_from_the_step_itself_its_loop_may_be_another() -> None:
    origin = half_done()
    text = changed("in: [1, 2]", "in: [7]", text=changed("code: broken", "code: mended"))
    driver = again(origin, text, Cut("each"))
    assert driver.state.status == "completed"
    assert driver.state.outputs["each"] != origin.state.outputs.get("each")
    assert len([fact for fact in driver.facts if isinstance(fact, e.IterationDone) and len(fact.path) == 2]) == 3


def test_steps_may_be_added_behind_what_runs() -> None:
    origin = half_done()
    more = '    next: { arcs: [ { step: last } ] }\n  - step: last\n    tool: { kind: python, code: "x" }\n'
    driver = again(origin, changed("code: broken", "code: mended") + more)
    assert driver.data == "last_task"


def test_a_token_at_the_door_of_a_step_that_is_gone_is_refused() -> None:
    origin = Driver(TEXT, tool)
    origin.send(CancelExecution())
    assert isinstance(asked(origin, changed("fetch", "get_it")), Rejection)


def kept_loops(origin: Driver) -> list[e.LoopStarted]:
    request = rerun(origin.program, "x", origin.facts, Cut(), now=0.0)
    assert isinstance(request, RequestExecution)
    return [fact for fact in request.seed if isinstance(fact, e.LoopStarted)]


@pytest.mark.parametrize(
    ("overlay", "keys"),
    [({"base": 2, "url": "x"}, ("base",)), ({"room": 1}, ("room",)), ({"url": "new"}, ()), ({}, ())],
)
def test_values_that_only_the_start_of_a_loop_reads_come_too_late(
    overlay: Mapping[str, object], keys: tuple[str, ...]
) -> None:
    origin = half_done()
    found = unmoved(origin.program, kept_loops(origin), overlay)
    assert found == ([Unmoved("each", 3, keys)] if keys else [])


def test_where_a_loop_reads_the_whole_workload_every_value_comes_too_late() -> None:
    text = changed('{ base: "{{ workload.base }}" }', '{ all: "{{ workload }}" }')
    origin = Driver(text, tool).run()
    assert unmoved(origin.program, kept_loops(origin), {"url": "new"}) == [Unmoved("each", 3, ("url",))]
