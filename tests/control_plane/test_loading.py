"""From a log to a state: snapshots that help or are ignored, and events whose payload is stored elsewhere."""

from noetl.control_plane.limits import Limits
from noetl.ports import Ask
from tests.runtime import Rig, chain, played


@played
async def test_a_damaged_snapshot_is_ignored_and_the_log_folded_anew(rig: Rig) -> None:
    name = await rig.begin(rig.serve(), chain("a"))
    await rig.store.save_snapshot(name, 3, b"no snapshot")
    plane = rig.serve()
    rig.work(plane)
    assert await rig.end(name) == "completed"


@played
async def test_a_state_is_taken_from_a_snapshot_and_what_came_after_it(rig: Rig) -> None:
    plane = rig.serve(Limits(snapshot_every=1))
    name = await rig.begin(plane, chain("a", "b"))
    saved = await rig.store.snapshot(name)
    assert saved is not None
    for seq in range(1, saved[0] + 1):
        rig.store.damage(name, seq, b"not needed any more")
    other = rig.serve()
    assert len((await other.poll(Ask("w", 1, 30.0), 0.0)).claims) == 1


@played
async def test_an_event_whose_payload_was_stored_is_read_back(rig: Rig) -> None:
    workload = {f"key{number}": "x" * 900 for number in range(300)}
    name = await rig.begin(rig.serve(), chain("a").replace("n: 1", 'n: "{{ workload | length }}"'), workload)
    assert max(map(len, await rig.store.read(name, 0, 100))) < 70_000
    plane = rig.serve()
    rig.work(plane)
    assert await rig.end(name) == "completed"
    assert rig.bench.runs[0].input == {"n": 300}


@played
async def test_a_missing_payload_parks_the_execution(rig: Rig) -> None:
    workload = {f"key{number}": "x" * 900 for number in range(300)}
    name = await rig.begin(rig.serve(), chain("a"), workload)
    rig.results.lose_all()
    plane = rig.serve()
    await plane.poll(Ask("w", 1, 30.0), 0.0)
    (incident,) = await rig.store.incidents(name, 10)
    assert "event 1 cannot be read" in incident.message
    assert await plane.cancel(name) is None
