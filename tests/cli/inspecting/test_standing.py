"""Where an execution stands is told from its snapshot and what came after it."""

import asyncio
from collections.abc import Sequence

from noetl.cli.inspecting.standing import Told, lines, record, standing_of, told_of
from noetl.cli.live.progress import Progress
from noetl.cli.live.terminal import SPINNER
from noetl.cli.presence import Present
from noetl.control_plane.limits import Limits
from noetl.control_plane.loading import Loader
from noetl.engine.codec import decode
from noetl.engine.envelope import Event
from noetl.engine.evolve import fold
from noetl.engine.explain.waits import explain_waits
from noetl.engine.output import Error, Output, Status, failed
from noetl.ports import Console, Summary, ToolCall
from noetl.supply.programs import Programs, made_ready
from noetl.supply.shelf import Shelf
from tests.cli.inspecting.calling import CALLED, caller
from tests.runtime import Rig, WatchedStore, chain, forever, head, played, registered

ITERATIONS = 5_000
LOOP = f"""{head("loop")}
workflow:
  - step: each
    loop: {{ in: "{{{{ range({ITERATIONS}) | list }}}}", iterator: i, spec: {{ mode: parallel, max_in_flight: 50 }} }}
    tool: {{ kind: noop }}
    set: {{ ctx.count: "{{{{ output.loop.succeeded }}}}" }}
    next: {{ arcs: [ {{ step: last }} ] }}
  - step: last
    tool: {{ name: last, kind: python, code: x }}
"""


class CountedStore(WatchedStore):
    """Counts the events that are read, and their bytes."""

    events_read = 0
    bytes_read = 0

    async def read(self, execution_id: str, after: int, limit: int) -> Sequence[bytes]:
        found = await super().read(execution_id, after, limit)
        self.events_read += len(found)
        self.bytes_read += sum(map(len, found))
        return found


def loader(rig: Rig) -> Loader:
    return Loader(rig.store, Programs(rig.catalog.by_digest), Shelf(rig.results, 1_000_000), rig.clock, 1_000)


async def summary_of(rig: Rig, name: str) -> Summary:
    found = await rig.store.summary(name)
    assert found is not None
    return found


async def told(rig: Rig, name: str) -> Told:
    summary = await summary_of(rig, name)
    return await told_of(rig.store, await standing_of(rig.store, loader(rig), summary, has_times=True))


async def shown(rig: Rig, name: str) -> list[str]:
    return list(lines(await told(rig, name), rig.clock.now(), unpainted))


def unpainted(text: str, _role: str) -> str:
    return text


async def by_the_whole_log(rig: Rig, name: str, text: str) -> dict[str, object]:
    """The same record, from a fold of all events."""
    summary = await summary_of(rig, name)
    program = made_ready(registered(text))
    progress = Progress(program.playbook.metadata.name, name, list(program.steps))
    events = [decode(line) for line in await rig.store.read(name, 0, 1_000_000)]
    known = [event for event in events if isinstance(event, Event)]
    assert len(known) == len(events)
    for event in known:
        progress.see(event)
    state = fold(program, name, (event.fact for event in known))
    _, rows = await rig.store.rows(name)
    waits = explain_waits(program, state, (), rows.work)
    steps = [
        {
            "name": line.name,
            "status": line.mark,
            "runs": line.runs,
            "iterations": {"done": line.done, "failed": line.failed, "total": line.total}
            if line.total is not None
            else None,
        }
        for line in progress.steps.values()
    ]
    return {
        "execution_id": name,
        "playbook": summary.path,
        "status": progress.status,
        "interrupted": False,
        "rerun_of": None,
        "error": progress.error,
        "steps": steps,
        "failures": [],
        "children": [],
        "ctx": state.ctx,
        "waiting_for": [wait.text for wait in waits],
        "incidents": [],
    }


@played
async def test_the_status_of_a_long_loop_reads_a_bounded_part_of_its_log_and_tells_what_all_of_it_tells(
    rig: Rig,
) -> None:
    store = rig.store = CountedStore(rig.clock)
    store.latency_s = 0.1
    limits = Limits(snapshot_every=1_000)
    plane = rig.serve(limits)
    rig.work(plane)
    name = await rig.begin(plane, LOOP)
    for head_min in (1, 3_000, 9_000, 15_000):
        await rig.until(lambda: store._summaries[name].head > head_min)  # noqa: B023 — waited for at once
        store.events_read = store.bytes_read = 0
        summary = await summary_of(rig, name)
        found = record(await told_of(store, await standing_of(store, loader(rig), summary), Present(frozenset({name}))))
        assert found["status"] == "running"
        assert store.events_read <= limits.snapshot_every + limits.letters_max
        assert store.bytes_read < 1_000_000
        assert found == await by_the_whole_log(rig, name, LOOP)
    await rig.end(name)
    found = record(await told(rig, name))
    assert found == await by_the_whole_log(rig, name, LOOP)
    assert found["steps"] == [
        {"name": "each", "status": "done", "runs": 1, "iterations": {"done": 5_000, "failed": 0, "total": 5_000}},
        {"name": "last", "status": "done", "runs": 1, "iterations": None},
    ]
    assert found["ctx"] == {"count": ITERATIONS}


@played
async def test_an_execution_whose_log_is_damaged_is_known_by_its_summary_and_what_is_wrong(rig: Rig) -> None:
    name = await rig.ran(chain("a", "b"))
    rig.store.damage(name, 3, b"{")
    found = await standing_of(rig.store, loader(rig), await summary_of(rig, name))
    assert (found.progress.status, found.progress.output) == ("completed", None)
    assert "event 3 cannot be read" in found.waits[0].text
    assert len(found.incidents) == 1


@played
async def test_times_are_read_only_where_they_are_shown(rig: Rig) -> None:
    name = await rig.ran(chain("a", "b"))
    summary = await summary_of(rig, name)
    found = await standing_of(rig.store, loader(rig), summary)
    assert [line.started_at for line in found.progress.steps.values()] == [None, None]
    timed = await standing_of(rig.store, loader(rig), summary, has_times=True)
    for line in timed.progress.steps.values():
        assert line.started_at is not None
        assert line.ended_at is not None
        assert line.ended_at >= line.started_at


MANY_FAIL = f"""{head("many")}
workflow:
  - step: each
    loop: {{ in: "{{{{ range(3000) | list }}}}", iterator: i, spec: {{ mode: parallel, max_in_flight: 50 }} }}
    spec: {{ policy: {{ failure: {{ mode: best_effort }} }} }}
    tool: {{ name: one, kind: python, code: x, input: {{ i: "{{{{ iter.i }}}}" }} }}
    next: {{ arcs: [ {{ step: last }} ] }}
  - step: last
    tool: {{ name: last, kind: python, code: x }}
"""
TRACE = "Traceback:\n  line 7\nKeyError: 'k'"


async def fails_at_odd(call: ToolCall, _console: Console) -> Output:
    return failed("exception", f"odd: {call.input['i']}") if int(str(call.input["i"])) % 2 else Output()


async def fails_with_a_trace(_call: ToolCall, _console: Console) -> Output:
    return Output(
        status=Status.ERROR, error=Error("exception", "p.yaml:7: KeyError: 'k'"), blocks={"py": {"traceback": TRACE}}
    )


@played
async def test_of_many_iterations_that_failed_the_first_are_told_with_why_and_the_rest_counted(rig: Rig) -> None:
    store = rig.store = CountedStore(rig.clock)
    limits = Limits(snapshot_every=1_000)
    plane = rig.serve(limits)
    rig.bench.does["one"] = fails_at_odd
    rig.bench.does["last"] = fails_with_a_trace
    rig.work(plane)
    name = await rig.begin(plane, MANY_FAIL)
    await rig.end(name)
    store.events_read = 0
    found = record(await told(rig, name))
    assert store.events_read <= limits.snapshot_every + limits.letters_max + 30
    failures = found["failures"]
    assert isinstance(failures, list)
    assert len(failures) == 11
    for each in failures[:10]:
        assert each["kind"] == "exception"
        assert each["iteration"][0] % 2 == 1
        assert (each["item"], each["message"]) == (str(each["iteration"][0]), f"odd: {each['iteration'][0]}")
    assert failures[:10] == sorted(failures[:10], key=lambda each: each["iteration"])
    assert failures[10] == {
        "step": "last", "iteration": None, "item": None, "kind": "exception", "message": "p.yaml:7: KeyError: 'k'",
        "traceback": TRACE,
    }  # fmt: skip
    text = await shown(rig, name)
    assert "  each: 1500 of 3000 iterations failed" in text
    assert f"    {_label(failures[0])}" in text
    assert f"    … 1490 more; see: noetl events {name} | grep iteration.failed" in text
    assert text[-4:] == ["  traceback of last:", "    Traceback:", "      line 7", "    KeyError: 'k'"]


def _label(failure: dict[str, object]) -> str:
    return f"[{failure['item']}] {failure['item']}: exception: odd: {failure['item']}"


INSIDE = f"""{head("inside")}
workflow:
  - step: each
    loop:
      in: [ [1, 2], [3] ]
      iterator: row
      loop: {{ in: "{{{{ iter.row }}}}", iterator: i }}
    tool: {{ name: one, kind: python, code: x, input: {{ i: "{{{{ iter.i }}}}" }} }}
"""


@played
async def test_an_iteration_that_failed_for_what_is_inside_it_is_told_once(rig: Rig) -> None:
    name = await rig.ran(INSIDE, one=fails_at_odd)
    text = await shown(rig, name)
    assert [line for line in text if line.startswith("    [")] == ["    [0,0]: exception: odd: 1"]
    assert "  each: 1 of 2 iterations failed" in text


@played
async def test_failures_are_told_while_the_loop_runs(rig: Rig) -> None:
    plane = rig.serve()
    rig.bench.does["one"] = waits_at_even
    rig.work(plane)
    name = await rig.begin(plane, MANY_FAIL)
    await rig.until(lambda: rig.store._summaries[name].head > 30)
    await rig.free()
    text = await shown(rig, name)
    assert "  running" in text
    assert any(line.endswith(" of 3000 iterations failed") for line in text)


async def waits_at_even(call: ToolCall, console: Console) -> Output:
    if int(str(call.input["i"])) % 2 == 0:
        await asyncio.Event().wait()
    return await fails_at_odd(call, console)


CALLER = caller(12)


async def fails_at_seven(call: ToolCall, _console: Console) -> Output:
    return failed("exception", "no seven") if call.input["i"] == 7 else Output()


@played
async def test_the_children_of_an_execution_are_named_those_that_failed_first(rig: Rig) -> None:
    plane = rig.serve()
    await rig.register(CALLED)
    rig.bench.does["only"] = fails_at_seven
    rig.work(plane)
    name = await rig.begin(plane, CALLER, name="01a1e241-82a7-7a87-b28d-68636998eb9e")
    await rig.end(name)
    found = record(await told(rig, name))["children"]
    assert isinstance(found, list)
    assert len(found) == 10
    assert found[0] == {"execution_id": f"{name}.ask#1[7].ask/1", "playbook": "called", "status": "failed"}
    text = await shown(rig, name)
    assert "  below it: 12 executions, 1 failed" in text
    assert "    failed     called  '01a1e241-82a7.ask#1[7].ask/1'" in text
    assert text[-1] == "    … 2 more; see: noetl executions --of 01a1e241-82a7"
    assert "below it" not in "".join(await shown(rig, f"{name}.ask#1[7].ask/1"))


@played
async def test_what_nobody_works_on_stands_still_and_says_how_to_go_on(rig: Rig) -> None:
    plane = rig.serve()
    await rig.register(CALLED)
    rig.bench.does["only"] = forever
    worker = rig.work(plane)
    name = await rig.begin(plane, CALLER, name="root")
    await rig.until(lambda: len(rig.bench.running) >= 4)
    await rig.free()
    before = await told(rig, name)
    assert (before.is_interrupted, record(before)["interrupted"]) == (False, False)
    await worker.stop(0.0)
    for each in (name, f"{name}.ask#1[0].ask/1"):
        text = await shown(rig, each)
        assert "  interrupted" in text
        assert f"  no process works on it; go on with: noetl run --resume {name}" in text
        assert not any("waits for" in line for line in text if line.startswith("  ask#1"))
        assert not set("".join(text)) & set(SPINNER)
    assert "    interrupted  called  " in "\n".join(await shown(rig, name))
    found = await told(rig, name)
    assert (record(found)["status"], record(found)["interrupted"]) == ("running", True)
    later = list(lines(found, rig.clock.now() + 3_600, unpainted))
    assert later == await shown(rig, name), "its clock stands still too"


async def fails_deep(_call: ToolCall, _console: Console) -> Output:
    trace = "\n".join(f"line {number}" for number in range(100))
    return Output(status=Status.ERROR, error=Error("exception", "deep"), blocks={"py": {"traceback": trace}})


@played
async def test_of_a_long_traceback_the_end_is_told(rig: Rig) -> None:
    name = await rig.ran(chain("a"), a=fails_deep)
    text = await shown(rig, name)
    assert text[text.index("  traceback of a:") + 1 :] == ["    …", *(f"    line {each}" for each in range(80, 100))]


@played
async def test_a_failure_whose_event_cannot_be_read_here_is_told_without_the_reason(rig: Rig) -> None:
    name = await rig.ran(chain("a"), a=fails_deep)
    standing = await standing_of(rig.store, loader(rig), await summary_of(rig, name))
    assert standing.state is not None
    number = standing.state.steps["a"].ended
    (data,) = await rig.store.read(name, number - 1, 1)
    rig.store.damage(name, number, data.replace(b"step.failed", b"step.danced"))
    (failure,) = (await told_of(rig.store, standing)).failed[0].failures
    assert "cannot be read here" in failure.message
