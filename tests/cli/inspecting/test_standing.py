"""Where an execution stands is told from its snapshot and what came after it."""

from collections.abc import Sequence

from noetl.cli.inspecting.standing import record, standing_of
from noetl.cli.live.progress import Progress
from noetl.control_plane.limits import Limits
from noetl.control_plane.loading import Loader
from noetl.engine.codec import decode
from noetl.engine.envelope import Event
from noetl.engine.evolve import fold
from noetl.engine.explain.waits import explain_waits
from noetl.ports import Summary
from noetl.supply.programs import Programs, made_ready
from noetl.supply.shelf import Shelf
from tests.runtime import Rig, WatchedStore, chain, head, played, registered

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
        "error": progress.error,
        "steps": steps,
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
        found = record(await standing_of(store, loader(rig), summary))
        assert found["status"] == "running"
        assert store.events_read <= limits.snapshot_every + limits.letters_max
        assert store.bytes_read < 1_000_000
        assert found == await by_the_whole_log(rig, name, LOOP)
    await rig.end(name)
    found = record(await standing_of(store, loader(rig), await summary_of(rig, name)))
    assert found == await by_the_whole_log(rig, name, LOOP)
    assert found["steps"] == [
        {"name": "each", "status": "done", "runs": 1, "iterations": {"done": 5_000, "failed": 0, "total": 5_000}},
        {"name": "last", "status": "done", "runs": 1, "iterations": None},
    ]
    assert found["ctx"] == {"count": ITERATIONS}


@played
async def test_an_execution_whose_log_is_damaged_is_known_by_its_summary_and_what_is_wrong(rig: Rig) -> None:
    plane = rig.serve()
    rig.work(plane)
    name = await rig.begin(plane, chain("a", "b"))
    await rig.end(name)
    rig.store.damage(name, 3, b"{")
    found = await standing_of(rig.store, loader(rig), await summary_of(rig, name))
    assert (found.progress.status, found.progress.output) == ("completed", None)
    assert "event 3 cannot be read" in found.waits[0].text
    assert len(found.incidents) == 1


@played
async def test_times_are_read_only_where_they_are_shown(rig: Rig) -> None:
    plane = rig.serve()
    rig.work(plane)
    name = await rig.begin(plane, chain("a", "b"))
    await rig.end(name)
    summary = await summary_of(rig, name)
    found = await standing_of(rig.store, loader(rig), summary)
    assert [line.started_at for line in found.progress.steps.values()] == [None, None]
    timed = await standing_of(rig.store, loader(rig), summary, has_times=True)
    for line in timed.progress.steps.values():
        assert line.started_at is not None
        assert line.ended_at is not None
        assert line.ended_at >= line.started_at
