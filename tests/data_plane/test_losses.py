"""Stored data that cannot be had: whoever needs it hears so at once, whose it was, and nobody else does."""

import asyncio
from collections.abc import Mapping

import msgspec
import pytest

from noetl.control_plane.plane import Plane
from noetl.data_plane.losses import told
from noetl.engine import events as e
from noetl.engine.commands import Rejection
from noetl.engine.cursor import Cursor, Frame, Turn
from noetl.engine.leases import Lease
from noetl.engine.output import Error, Output
from noetl.engine.reference import External, Loss, Reference
from noetl.engine.rerun import Cut
from noetl.engine.worklist import EVERY
from noetl.ports import Claim, Console, Granted, Loop, ToolCall
from tests.runtime import Rig, chain, head, played

RESULT = "spec: { result: { inline_max_bytes: 1000, ttl: 1h } }"
TEXT = (
    head("sites")
    + """
workbook:
  twice: { loop: { in: [1, 2], iterator: n }, tool: { kind: noop, set: { step.n: "{{ iter.n }}" } } }
  once: { tool: { name: inner, kind: python, code: x } }
workflow:
  - step: load
    tool: { name: load, kind: python, code: x, RESULT }
    next: { arcs: [ { step: use } ] }
  - step: use
USE
  - step: reads
    tool: { name: reads, kind: python, code: x, input: { x: "{{ ctx.x }}" } }
"""
)
CHILD = head("child") + "workflow: [ { step: a, tool: { kind: noop } } ]"

SITES = {
    "an input": 'tool: { kind: python, code: x, input: { a: [ "{{ load.data }}" ] } }',
    "a list in an input": 'tool: { kind: python, code: x, input: { a: "{{ [load.data] }}" } }',
    "a mapping in an input": """tool: { kind: python, code: x, input: { a: "{{ {'in': load} }}" } }""",
    "a field": 'tool: { kind: http, url: "http://x", json: "{{ {1 | string: load} }}" }',
    "a set": 'tool: { kind: noop, set: { ctx.x: "{{ load }}" } }',
    "a set of a rule": (
        "tool: { kind: noop, spec: { policy: { rules: [ { else: { then: { do: continue, "
        'set: { ctx.x: "{{ [load] }}" } } } } ] } } }'
    ),
    "a set before": (
        "tool: { kind: noop, spec: { policy: { rules: [ { else: { then: { do: continue } } } ], before: [ { else: "
        '{ then: { do: continue, set: { ctx.x: "{{ [load] }}" } } } } ] } } }'
    ),
    "a rule": (
        'tool: { kind: noop, spec: { policy: { rules: [ { when: "{{ load.data | length > 1 }}", '
        "then: { do: break } } ] } } }"
    ),
    "a selection": (
        'tool: { name: use, kind: python, code: x, spec: { result: { select: { n: "{{ [load.data] }}" } } } }'
    ),
    "what a tool receives": 'input: { a: "{{ [load.data] }}" }\n    tool: { kind: python, code: x }',
    "what a block receives": 'input: { a: "{{ [load.data] }}" }\n    tool: { kind: workbook, task: once }',
    "a call of a block": 'tool: { kind: workbook, task: once, input: { a: "{{ [load] }}" } }',
    "a call of a playbook": 'tool: { kind: playbook, path: child, input: { a: "{{ [load] }}" } }',
    "a loop": 'loop: { in: "{{ load.data }}", iterator: row }\n    tool: { kind: noop }',
    "an element of a loop": (
        'loop: { in: "{{ [load.data] }}", iterator: row }\n    tool: { kind: noop, set: { step.x: "{{ iter }}" } }'
    ),
    "a looped block in a loop": (
        'loop: { in: "{{ [load.data] }}", iterator: row }\n    tool: { kind: workbook, task: twice }'
    ),
    "a set of the server": (
        'tool: { kind: noop }\n    set: { ctx.x: "{{ [load.data] }}" }\n    next: { arcs: [ { step: reads } ] }'
    ),
    "a set of an arc": (
        'tool: { kind: noop }\n    next: { arcs: [ { step: reads, set: { ctx.x: "{{ load.data }}" } } ] }'
    ),
}
HARMLESS = {
    "another member": 'tool: { kind: python, code: x, input: { a: "{{ load.status }}" } }',
    "an input that nobody reads": (
        'input: { a: "{{ load.data }}" }\n    tool: { kind: noop, set: { ctx.s: "{{ load.status }}" } }'
    ),
    "elements that nobody reads": (
        'loop: { in: "{{ [load.data, 1] }}", iterator: row }\n'
        '    tool: { kind: noop, set: { step.x: "{{ iter.index }}" } }'
    ),
    "a block that does not read its input": (
        'input: { a: "{{ [load.data] }}" }\n    tool: { kind: workbook, task: empty }'
    ),
}


def text_of(use: str, result: str = RESULT) -> str:
    return (
        TEXT.replace("USE", f"    {use}")
        .replace("RESULT", result)
        .replace("workbook:\n", "workbook:\n  empty: { tool: { kind: noop } }\n")
    )


async def large(call: ToolCall, console: Console) -> Output:  # noqa: ARG001
    return Output(data=["x" * 5_000])


async def rerun(rig: Rig, use: str, *, result: str = RESULT) -> str:
    """The first run is sound; then its data goes, and `use` runs again with another worker."""
    rig.bench.does["load"] = large
    await rig.register(CHILD)
    plane = rig.serve()
    worker = rig.work(plane)
    name = await rig.begin(plane, text_of(use, result))
    assert await rig.end(name) == "completed"
    rig.results.lose_all()
    await worker.stop(1.0)
    await plane.stop()
    return await again(rig, name)


async def again(rig: Rig, name: str, plane: Plane | None = None) -> str:
    plane = plane or rig.serve()
    rig.work(plane, "w2")
    origin = await rig.store.summary(name)
    assert origin is not None
    asked = await plane.rerun(origin, Cut(from_step="use"), {})
    assert isinstance(asked, str), asked
    await rig.end(asked, within_s=5.0)
    return asked


async def error_of(rig: Rig, name: str) -> Error:
    assert rig.status(name) == "failed"
    assert await rig.store.incidents_within(EVERY, 10) == ()
    found = [fact.output.error for fact in await rig.facts(name) if isinstance(fact, e.StepFailed)]
    assert found[-1] is not None
    return found[-1]


@pytest.mark.parametrize("site", SITES)
def test_whoever_needs_data_whose_time_is_over_fails_with_its_name(site: str) -> None:
    @played
    async def test(rig: Rig) -> None:
        error = await error_of(rig, await rerun(rig, SITES[site]))
        assert (error.kind, error.retryable) == ("reference_not_available", False)
        of = "`ctx.x`" if site in ("a set of the server", "a set of an arc") else "step `load`"
        assert f"the data of {of} was kept for 1h, as `spec.result.ttl` says, and is gone; run " in error.message
        assert "playbook.yaml:" in error.message

    test()


@pytest.mark.parametrize("site", HARMLESS)
def test_who_does_not_need_it_goes_on(site: str) -> None:
    @played
    async def test(rig: Rig) -> None:
        name = await rerun(rig, HARMLESS[site])
        assert rig.status(name) == "completed"
        assert await rig.store.incidents_within(EVERY, 10) == ()

    test()


# ------------------------------------------------------------------------------ missing without a time

FOR_GOOD = "spec: { result: { inline_max_bytes: 1000 } }"


@played
async def test_data_that_somebody_removed_fails_the_task_at_once_and_may_come_back(rig: Rig) -> None:
    use = """tool:
      kind: python
      code: x
      input: { a: "{{ load.data }}" }
      spec:
        policy: { rules: [ { when: "{{ output.error.retryable }}", then: { do: retry, attempts: 3, delay: 60 } } ] }
"""
    rig.bench.does["load"] = large
    plane = rig.serve()
    worker = rig.work(plane)
    name = await rig.begin(plane, text_of(use, FOR_GOOD))
    assert await rig.end(name) == "completed"
    kept = dict(rig.results._blobs)
    rig.results.lose_all()
    await worker.stop(1.0)
    await plane.stop()
    plane = rig.serve()
    rig.work(plane, "w2")
    origin = await rig.store.summary(name)
    assert origin is not None
    asked = await plane.rerun(origin, Cut(from_step="use"), {})
    assert isinstance(asked, str)
    await rig.until(lambda: len(rig.store._logs[asked]) > 5, 5.0)
    rig.results._blobs.update(kept)
    assert await rig.end(asked) == "completed"
    error, nothing = [fact.output.error for fact in await rig.facts(asked) if isinstance(fact, e.TaskDone)]
    assert error is not None
    assert (error.kind, error.retryable, nothing) == ("reference_not_available", True, None)
    assert "the data of step `load` is not in the result store; restore it from a backup, or run " in error.message


@played
async def test_damaged_data_fails_the_task_at_once(rig: Rig) -> None:
    rig.bench.does["load"] = large
    plane = rig.serve()
    worker = rig.work(plane)
    name = await rig.begin(plane, text_of(SITES["a set"], FOR_GOOD))
    assert await rig.end(name) == "completed"
    await worker.stop(1.0)
    rig.results.damage_all()
    error = await error_of(rig, await again(rig, name, plane))
    assert (error.kind, error.retryable) == ("checksum_mismatch", False)
    assert "the data of step `load` is damaged in the result store" in error.message


LOOP = (
    head("loop")
    + """
workflow:
  - step: load
    tool: { name: load, kind: python, code: x, spec: { result: { inline_max_bytes: 1000 } } }
    next: { arcs: [ { step: use } ] }
  - step: use
    loop: { in: "{{ load.data }}", iterator: row, spec: { mode: parallel, max_in_flight: 2 } }
    spec: { policy: { failure: { mode: best_effort } } }
    tool:
      - { name: one, kind: python, code: x, input: { n: "{{ iter.index }}" } }
      - { name: two, kind: python, code: x, input: { row: "{{ iter.row if iter.index > 2 else 0 }}" } }
"""
)


@played
async def test_of_a_loop_whose_collection_is_gone_only_iterations_that_need_their_element_fail(rig: Rig) -> None:
    async def rows(call: ToolCall, console: Console) -> Output:  # noqa: ARG001
        return Output(data=["x" * 1_000] * 5)

    async def waits(call: ToolCall, console: Console) -> Output:  # noqa: ARG001
        await asyncio.Event().wait()
        return Output()

    rig.bench.does |= {"load": rows, "one": waits}
    plane = rig.serve()
    worker = rig.work(plane)
    name = await rig.begin(plane, LOOP)
    await rig.until(lambda: rig.bench.count("one") == 2)
    await worker.stop(0.0)
    rig.results.lose_all()
    del rig.bench.does["one"]
    rig.work(plane, "w2")
    assert await rig.end(name, within_s=5.0) == "completed"
    done = next(fact for fact in await rig.facts(name) if isinstance(fact, e.LoopDone))
    assert done.output.loop is not None
    assert (done.output.loop.succeeded, done.output.loop.failed) == (3, 2)
    errors = [fact.output.error for fact in await rig.facts(name) if isinstance(fact, e.TaskDone)]
    found = [error.message for error in errors if error is not None]
    assert len(found) == 2
    assert all("the data of step `load` is not in the result store; restore it" in message for message in found)


async def refused(rig: Rig, text: str, workload: Mapping[str, object], from_step: str) -> Rejection:
    """A rerun on a server that starts after all stored data was lost."""
    plane = rig.serve()
    worker = rig.work(plane)
    name = await rig.begin(plane, text, workload)
    assert await rig.end(name) == "completed"
    await worker.stop(1.0)
    await plane.stop()
    rig.results.lose_all()
    origin = await rig.store.summary(name)
    assert origin is not None
    asked = await rig.serve().rerun(origin, Cut(from_step=from_step), {}, "again")
    assert isinstance(asked, Rejection)
    assert await rig.store.incidents_within(EVERY, 10) == ()
    assert rig.status("again") == "unknown"
    return asked


@played
async def test_a_rerun_whose_workload_is_gone_is_refused(rig: Rig) -> None:
    found = await refused(rig, chain("a"), {"rows": ["x" * 70_000]}, "a")
    assert "cannot be read: the data of {'sha256': '" in found.message
    assert found.message.endswith("is not in the result store; restore it from a backup, or run again what made it")


@played
async def test_a_rerun_that_cannot_begin_without_what_is_gone_is_refused_and_leaves_nothing(rig: Rig) -> None:
    rig.bench.does["load"] = large
    found = await refused(rig, LOOP, {}, "use")
    assert found.message.startswith("nothing was begun: a decision needs stored data: the data of {'sha256': '")


# ------------------------------------------------------------------------------ whose it is


def stored(name: str) -> External:
    return External(Reference("blob", {"sha256": name}))


TASKS = Cursor(
    (Frame(outputs={"get": {"data": stored("task")}}), Turn("x", "y", (), 0, e.BlockLoop("n", []), {}, None))
)
CLAIM = Claim(
    Granted("x", ("use#1", ()), Lease(1, "w", 0.0, 1, 0, 1)),
    "digest",
    "use",
    is_started=False,
    workload={"w": stored("workload")},
    ctx={"a": 1, "b": {"c": [stored("ctx")]}},
    input={"i": stored("input")},
    outputs={"load": {"data": stored("step")}},
    cursor=TASKS,
    loop=Loop("row", 1, 0, 1, stored("loop")),
)


@pytest.mark.parametrize(
    ("name", "whose"),
    [
        ("step", "step `load`"),
        ("task", "task `get`"),
        ("ctx", "`ctx.b`"),
        ("input", "`input.i`"),
        ("workload", "`workload.w`"),
        ("loop", "the loop of step `use`"),
        ("other", "{'sha256': 'other'}"),
    ],
)
def test_it_is_told_in_the_words_of_the_playbook_whose_data_is_gone(name: str, whose: str) -> None:
    error = told(CLAIM, stored(name).reference, Loss("is gone"))
    assert error.message.startswith(f"the data of {whose} is gone; run ")


def test_iterations_that_go_on_have_tasks_of_their_own() -> None:
    loop = Loop("row", 1, 0, 1, [1], {0: TASKS})
    claim = msgspec.structs.replace(CLAIM, cursor=None, loop=loop)
    assert "task `get`" in told(claim, stored("task").reference, Loss("is gone")).message
