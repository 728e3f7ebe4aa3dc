"""A bug, a log or a playbook that cannot be read, and data that is gone: one execution is parked, all others go on."""

import asyncio

import pytest

from noetl.control_plane.limits import Limits
from noetl.control_plane.plane import Plane
from noetl.engine.commands import Rejection
from noetl.engine.incidents import Kind
from noetl.engine.output import Output
from noetl.engine.rerun import Cut
from noetl.engine.worklist import EVERY
from noetl.ports import Ask, Console, ToolCall, Unavailable
from tests.runtime import Rig, chain, head, played

UNKNOWN_EVENT = b'{"name":"future.thing","seq":2,"version":99,"payload":{}}'
ASK = Ask("w", 1, 30.0)


async def damaged(rig: Rig) -> tuple[Plane, str]:
    """An execution whose second event is bytes, and a server that has not read it yet."""
    name = await rig.begin(rig.serve(), chain("a"))
    rig.store.damage(name, 2, b"no event")
    return rig.serve(), name


@played
async def test_a_log_that_cannot_be_read_parks_its_execution_and_says_why(rig: Rig) -> None:
    plane, name = await damaged(rig)
    assert (await plane.poll(ASK, 0.0)).claims == []
    (incident,) = await rig.store.incidents(name, 10)
    assert incident.kind is Kind.UNREADABLE
    assert "event 2 cannot be read" in incident.message
    assert "restore" in incident.remedy


@played
async def test_a_parked_execution_can_be_cancelled_without_its_state(rig: Rig) -> None:
    plane, name = await damaged(rig)
    assert (await plane.poll(ASK, 0.0)).claims == []
    assert await plane.cancel(name, "enough") is None
    assert rig.status(name) == "cancelled"
    assert await rig.store.incidents(name, 10) == ()


@played
async def test_a_cancel_goes_on_where_the_store_fails_in_its_midst(rig: Rig) -> None:
    plane, name = await damaged(rig)
    rig.store.troubles = ["before"]
    assert await plane.cancel(name) is None
    assert rig.status(name) == "cancelled"


@played
async def test_later_cancels_of_an_unreadable_execution_hear_that_it_has_ended(rig: Rig) -> None:
    plane, name = await damaged(rig)
    answers = [*await asyncio.gather(plane.cancel(name), plane.cancel(name)), await plane.cancel(name)]
    assert answers.count(None) == 1
    assert [answer.kind for answer in answers if answer is not None] == ["ended", "ended"]
    assert await rig.store.incidents_within(EVERY, 10) == ()


@played
async def test_an_event_of_a_newer_version_parks_the_execution(rig: Rig) -> None:
    name = await rig.begin(rig.serve(), chain("a"))
    rig.store.damage(name, 2, UNKNOWN_EVENT)
    await rig.serve().poll(ASK, 0.0)
    (incident,) = await rig.store.incidents(name, 10)
    assert incident.kind is Kind.UNREADABLE


@played
async def test_an_execution_goes_on_once_its_log_is_restored_and_people_resume_it(rig: Rig) -> None:
    name = await rig.begin(rig.serve(), chain("a", "b"))
    lines = await rig.store.read(name, 0, 100)
    rig.store.damage(name, 2, b"no event")
    plane = rig.serve()
    rig.work(plane)
    await asyncio.sleep(5.0)
    assert rig.status(name) == "running"
    rig.store.damage(name, 2, lines[1])
    await plane.resume(name)
    assert await rig.end(name) == "completed"
    assert await rig.store.incidents_within(EVERY, 10) == ()


@played
async def test_a_missing_playbook_parks_until_it_is_registered_again(rig: Rig) -> None:
    name = await rig.begin(rig.serve(), chain("a"))
    playbook = await rig.catalog.by_path("chain", None)
    assert playbook is not None
    rig.catalog._by_digest.clear()
    plane = rig.serve()
    rig.work(plane)
    await asyncio.sleep(5.0)
    (incident,) = await rig.store.incidents_within(EVERY, 10)
    assert incident.kind is Kind.NO_PROGRAM
    await rig.catalog.register(playbook)
    await plane.resume(name)
    assert await rig.end(name) == "completed"


@played
async def test_a_bug_in_a_decision_parks_that_execution_alone(rig: Rig) -> None:
    """The bug: the server has lost a step of the program, which no playbook can bring about."""
    plane = rig.serve()
    worker = rig.work(plane)
    bad = await rig.register(chain("a", "b", path="bad"))
    program = await plane._programs.get(bad.digest)
    assert program is not None
    whole, program.steps = program.steps, {"a": program.steps["a"]}
    assert await plane.request(bad, {}, "bad") == "bad"
    await rig.until(lambda: bool(rig.store._incidents) and not worker.holdings)
    (incident,) = await rig.store.incidents_within(EVERY, 10)
    assert (incident.execution_id, incident.kind) == ("bad", Kind.BUG)
    assert "Report raised KeyError: 'b'" in incident.message
    good = await rig.begin(plane, chain("a", "b", path="good"))
    assert await rig.end(good) == "completed"
    assert rig.status("bad") == "running"
    program.steps = whole
    await plane.resume("bad")
    assert await rig.end("bad") == "completed"


@played
async def test_a_bug_in_a_commit_of_many_parks_the_one_whose_it_is(rig: Rig) -> None:
    plane = rig.serve(Limits(commits_max=1))
    names = [f"x{number}" for number in range(5)]
    for name in names:
        await rig.begin(plane, chain("a"), name=name)
    rig.store.breaks_on = "x3"
    rig.store.latency_s = 0.01
    answers = await asyncio.gather(*(plane.cancel(name) for name in names))
    assert [answer.kind if answer is not None else "" for answer in answers] == ["", "", "", "parked", ""]
    assert [incident.execution_id for incident in await rig.store.incidents_within(EVERY, 10)] == ["x3"]
    rig.store.breaks_on = ""
    assert await plane.cancel("x3") is None


@played
async def test_a_bug_met_while_looking_parks_the_execution_too(rig: Rig) -> None:
    plane = rig.serve()
    name = await rig.begin(plane, chain("a"))

    def see(program: object, state: object) -> object:  # noqa: ARG001
        raise ZeroDivisionError("a bug")

    with pytest.raises(Unavailable, match="is parked: what follows a commit raised ZeroDivisionError"):
        await plane._executions.look(name, see)
    assert [incident.kind for incident in await rig.store.incidents(name, 10)] == [Kind.BUG]


@played
async def test_while_an_execution_is_parked_its_timers_and_messages_are_kept(rig: Rig) -> None:
    text = f"""{head("slow")}
workflow:
  - step: a
    tool:
      name: a
      kind: python
      code: x
      spec:
        policy:
          rules:
            - {{ when: "{{{{ _attempt < 2 }}}}", then: {{ do: retry, attempts: 3, delay: 60 }} }}
            - {{ else: {{ then: {{ do: continue }} }} }}
"""
    plane = rig.serve()
    worker = rig.work(plane)
    name = await rig.begin(plane, text)
    await rig.until(lambda: rig.bench.count("a") == 1 and not worker.holdings)
    lines = await rig.store.read(name, 0, 100)
    rig.store.damage(name, 2, b"no event")
    await plane.stop()
    other = rig.serve()
    rig.work(other, "w2")
    await asyncio.sleep(600.0)
    assert rig.status(name) == "running"
    rig.store.damage(name, 2, lines[1])
    await other.resume(name)
    assert await rig.end(name, within_s=10.0) == "completed"
    assert rig.bench.count("a") == 2


LARGE = f"""{head("large")}
workload: {{ rows: [] }}
workflow:
  - step: a
    loop:
      in: "{{{{ workload.rows }}}}"
      iterator: row
      loop: {{ in: "{{{{ iter.row }}}}", iterator: cell }}
    tool: {{ name: a, kind: python, code: x, input: {{ n: "{{{{ iter.cell | length }}}}" }} }}
"""


@played
async def test_stored_data_that_is_gone_parks_the_execution_and_the_others_go_on(rig: Rig) -> None:
    name = await rig.begin(rig.serve(), LARGE, {"rows": [["x" * 1_000]] * 500})
    rig.results.lose_all()
    plane = rig.serve()
    worker = rig.work(plane)
    await rig.until(lambda: bool(rig.store._incidents) and not worker.holdings)
    (incident,) = await rig.store.incidents(name, 10)
    assert incident.kind is Kind.UNREADABLE
    assert "is not in the result store" in incident.message
    assert await rig.end(await rig.begin(plane, chain("a"))) == "completed"
    assert await plane.cancel(name) is None
    assert rig.status(name) == "cancelled"


@played
async def test_a_result_store_that_does_not_answer_parks_nothing(rig: Rig) -> None:
    name = await rig.begin(rig.serve(), LARGE, {"rows": [["x" * 1_000]] * 100})
    rig.results.is_down = True
    plane = rig.serve()
    rig.work(plane)
    await asyncio.sleep(60.0)
    assert await rig.store.incidents_within(EVERY, 10) == ()
    rig.results.is_down = False
    assert await rig.end(name, within_s=60.0) == "completed"
    assert {call.input["n"] for call in rig.bench.runs} == {1_000}


@played
async def test_a_log_that_cannot_be_read_cannot_be_rerun(rig: Rig) -> None:
    plane, name = await damaged(rig)
    origin = await rig.store.summary(name)
    assert origin is not None
    with pytest.raises(Unavailable, match="event 2 cannot be read"):
        await plane.rerun(origin, Cut(), {})


@played
async def test_a_request_of_what_is_parked_is_refused_and_not_retried(rig: Rig) -> None:
    plane, name = await damaged(rig)
    playbook = await rig.catalog.by_path("chain", None)
    assert playbook is not None
    refused = await plane.request(playbook, {}, name)
    assert isinstance(refused, Rejection)
    assert refused.kind == "parked"
    again = await plane.request(playbook, {}, name)
    assert isinstance(again, Rejection)
    assert again.kind == "parked"


TIGHT = Limits(shelf_bytes_max=1)
"""What was used last stays at hand, and nothing beside it."""


@played
async def test_decisions_fetch_what_they_need_even_where_little_is_kept_at_hand(rig: Rig) -> None:
    plane = rig.serve(TIGHT)
    rig.work(plane)
    names = [
        await rig.begin(plane, LARGE, {"rows": [[letter * 1_000] * 2] * 70}, name=letter) for letter in ("a", "b", "c")
    ]
    for name in names:
        assert await rig.end(name) == "completed"
    assert len(rig.bench.runs) == 3 * 140
    assert await rig.store.incidents_within(EVERY, 10) == ()


@played
async def test_a_decision_whose_data_is_gone_parks_its_execution_and_frees_the_worker(rig: Rig) -> None:
    plane = rig.serve(TIGHT)
    worker = rig.work(plane)
    gate = asyncio.Event()

    async def waits(call: ToolCall, console: Console) -> Output:  # noqa: ARG001
        await gate.wait()
        return Output()

    rig.bench.does["a"] = waits
    name = await rig.begin(plane, LARGE, {"rows": [["x" * 1_000]] * 100})
    await rig.until(lambda: rig.bench.running == ["a"])
    rig.results.lose_all()
    plane._executions.shelf._blobs.clear()
    gate.set()
    await rig.until(lambda: bool(rig.store._incidents) and not worker.holdings)
    (incident,) = await rig.store.incidents(name, 10)
    assert incident.message.startswith("a decision needs stored data: the data of")
    assert await rig.end(await rig.begin(plane, chain("b"))) == "completed"
