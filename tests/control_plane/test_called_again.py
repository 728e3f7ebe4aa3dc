"""Called playbooks that had not succeeded go on in a rerun of their caller, where they are asked for the same."""

import asyncio
from collections.abc import Sequence

import pytest

from noetl.control_plane.plane import Plane
from noetl.engine import events as e
from noetl.engine.effects import CancelChild
from noetl.engine.output import Output
from noetl.engine.rerun import Cut
from noetl.ports import Console, Message, ToolCall
from tests.runtime import Rig, WatchedStore, chain, forever, head, played

KID = chain("a", "b", "c", path="kid")
CALLER = f"""{head("caller")}
workload: {{ n: 1 }}
workflow:
  - step: call
    tool: {{ name: call, kind: playbook, path: kid, input: {{ n: "{{{{ workload.n }}}}" }} }}
"""
MIDDLE = CALLER.replace("caller", "middle")
TOP = CALLER.replace("caller", "top").replace("path: kid", "path: middle")
LOOP = f"""{head("loop")}
workflow:
  - step: each
    loop: {{ in: [1, 2, 3], iterator: i }}
    tool: {{ name: call, kind: playbook, path: kid, input: {{ n: "{{{{ iter.i }}}}" }} }}
"""


async def fails(_call: ToolCall, _console: Console) -> Output:
    raise ValueError("no")


async def failed(rig: Rig, plane: Plane, text: str, at: str = "b") -> str:
    """An execution whose child failed at a step."""
    rig.work(plane)
    rig.bench.does[at] = fails
    name = await rig.begin(plane, text)
    assert await rig.end(name) == "failed"
    del rig.bench.does[at]
    rig.bench.runs.clear()
    return name


async def again(rig: Rig, plane: Plane, name: str, cut: Cut | None = None, **overlay: object) -> Sequence[str]:
    """The tasks that run in a rerun, which completes."""
    origin = await rig.store.summary(name)
    assert origin is not None
    assert await plane.rerun(origin, cut or Cut(), overlay, "again") == "again"
    assert await rig.end("again", within_s=60.0) == "completed"
    return [call.task for call in rig.bench.runs]


@played
async def test_a_child_that_failed_goes_on_where_it_failed(rig: Rig) -> None:
    plane = rig.serve()
    await rig.register(KID)
    name = await failed(rig, plane, CALLER)
    assert await again(rig, plane, name) == ["b", "c"]
    first = (await rig.facts("again.call#2.call/1"))[0]
    assert isinstance(first, e.ExecutionRequested)
    assert first.origin is not None
    assert first.origin.execution_id == f"{name}.call#1.call/1"
    assert first.parent is not None
    assert first.parent.execution_id == "again"


@played
async def test_a_child_of_a_child_goes_on_too(rig: Rig) -> None:
    plane = rig.serve()
    for text in (KID, MIDDLE):
        await rig.register(text)
    assert await again(rig, plane, await failed(rig, plane, TOP, "c")) == ["c"]


@played
async def test_in_a_loop_only_what_is_left_of_each_child_runs(rig: Rig) -> None:
    plane = rig.serve()
    await rig.register(KID)
    assert await again(rig, plane, await failed(rig, plane, LOOP, "c")) == ["c", "a", "b", "c", "a", "b", "c"]


@played
async def test_a_child_that_was_cancelled_with_its_caller_goes_on(rig: Rig) -> None:
    plane = rig.serve()
    rig.work(plane)
    await rig.register(KID)
    rig.bench.does["b"] = forever
    name = await rig.begin(plane, CALLER)
    await rig.until(lambda: "b" in rig.bench.running)
    assert await plane.cancel(name) is None
    del rig.bench.does["b"]
    rig.bench.runs.clear()
    assert await again(rig, plane, name) == ["b", "c"]


class Withholding(WatchedStore):
    """Cancels of children are not delivered as long as it `withholds` them."""

    withholds = True

    async def messages(self, after: int, limit: int) -> Sequence[Message]:
        found = await super().messages(after, limit)
        return [each for each in found if not (self.withholds and isinstance(each.body, CancelChild))]


@played
async def test_a_start_waits_for_the_child_before_it_to_be_cancelled(rig: Rig) -> None:
    store = rig.store = Withholding(rig.clock)
    plane = rig.serve()
    rig.work(plane)
    await rig.register(KID)
    rig.bench.does["b"] = forever
    name = await rig.begin(plane, CALLER)
    await rig.until(lambda: "b" in rig.bench.running)
    assert await plane.cancel(name) is None
    origin = await rig.store.summary(name)
    assert origin is not None
    del rig.bench.does["b"]
    rig.bench.runs.clear()
    assert await plane.rerun(origin, Cut(), {}, "again") == "again"
    await asyncio.sleep(20.0)
    assert (rig.status("again"), rig.bench.runs) == ("running", [])
    store.withholds = False
    assert await rig.end("again", within_s=60.0) == "completed"
    assert [call.task for call in rig.bench.runs] == ["b", "c"]


@pytest.mark.parametrize("overlay", [{"n": 2}, {"n": {"deep": 1}}])
def test_a_child_that_is_asked_for_something_else_begins_anew(overlay: dict[str, object]) -> None:
    @played
    async def run(rig: Rig) -> None:
        plane = rig.serve()
        await rig.register(KID)
        name = await failed(rig, plane, CALLER)
        assert await again(rig, plane, name, None, **overlay) == ["a", "b", "c"]

    run()


@played
async def test_a_child_whose_text_has_changed_begins_anew(rig: Rig) -> None:
    plane = rig.serve()
    await rig.register(KID)
    name = await failed(rig, plane, CALLER)
    await rig.register(chain("a", "b", "c", "d", path="kid"))
    assert await again(rig, plane, name) == ["a", "b", "c", "d"]


@played
async def test_a_child_of_a_step_that_is_named_begins_anew(rig: Rig) -> None:
    plane = rig.serve()
    await rig.register(KID)
    assert await again(rig, plane, await failed(rig, plane, CALLER), Cut("call")) == ["a", "b", "c"]


@played
async def test_a_child_that_had_succeeded_begins_anew_with_the_step_that_called_it(rig: Rig) -> None:
    plane = rig.serve()
    await rig.register(KID)
    then = "\n      - { name: then, kind: python, code: x }"
    text = CALLER.replace("tool: {", "tool:\n      - {") + then
    name = await failed(rig, plane, text, "then")
    assert await again(rig, plane, name) == ["a", "b", "c", "then"]


@played
async def test_a_child_whose_log_cannot_be_read_begins_anew(rig: Rig) -> None:
    plane = rig.serve()
    await rig.register(KID)
    name = await failed(rig, plane, CALLER)
    rig.store.damage(f"{name}.call#1.call/1", 4, b"damaged")
    assert await again(rig, plane, name) == ["a", "b", "c"]


@played
async def test_a_child_that_never_began_begins_anew(rig: Rig) -> None:
    """A keychain entry was missing, so that there is nothing to go on with."""
    plane = rig.serve()
    rig.work(plane)
    await rig.register(KID.replace("workflow:", "keychain: [ { name: key, kind: env, var: KEY } ]\nworkflow:"))
    name = await rig.begin(plane, CALLER)
    assert await rig.end(name) == "failed"
    rig.vault.secrets["key"] = "x"
    assert await again(rig, plane, name) == ["a", "b", "c"]


@played
async def test_of_a_call_that_was_tried_several_times_the_last_child_goes_on(rig: Rig) -> None:
    plane = rig.serve()
    await rig.register(KID)
    retry = "{ rules: [ { when: \"{{ output.status == 'error' }}\", then: { do: retry, attempts: 3 } } ] }"
    text = CALLER.replace("path: kid,", f"path: kid, spec: {{ policy: {retry} }},")
    name = await failed(rig, plane, text)
    assert await again(rig, plane, name) == ["b", "c"]
    first = (await rig.facts("again.call#2.call/1"))[0]
    assert isinstance(first, e.ExecutionRequested)
    assert first.origin is not None
    assert first.origin.execution_id == f"{name}.call#1.call/3"
