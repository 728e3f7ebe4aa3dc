"""What tools answer at the edge of a worker: how deep it may be, and that trouble with it is told at once."""

from noetl.engine.output import Error, Output, Status
from noetl.engine.reference import Reference
from noetl.engine.worklist import EVERY
from noetl.ports import Console, ToolCall
from tests.data_plane.test_run_step import SECRET, done, pipeline, python
from tests.runtime import Rig, answering, played


def nested(value: object, levels: int) -> object:
    for level in range(levels):
        value = [value] if level % 2 else {"a": value}
    return value


@played
async def test_an_output_as_deep_as_may_be_goes_all_the_way_with_secrets_and_loops(rig: Rig) -> None:
    plane = rig.serve()
    rig.work(plane)
    rig.vault.secrets["key"] = SECRET

    rig.bench.does["a"] = answering(Output(data=nested(SECRET, 100)))
    task = python("a", input='{ key: "{{ keychain.key }}" }', set='{ ctx.all: "{{ output.data }}" }')
    loop = "    loop: { in: [1, 2], iterator: x }\n"
    text = pipeline(task, more="keychain: [{ name: key, kind: env, var: KEY }]\n").replace(
        "    tool:", f"{loop}    tool:"
    )
    name = await rig.begin(plane, text)
    assert await rig.end(name) == "completed"
    assert [fact.output.data for fact in await done(rig, name)] == [nested("***", 100)] * 2


@played
async def test_an_output_that_is_nested_too_deeply_is_an_error_of_the_task(rig: Rig) -> None:
    plane = rig.serve()
    rig.work(plane)

    async def deep(call: ToolCall, console: Console) -> Output:  # noqa: ARG001
        return Output(data=nested(1, (101, 900, 100_000)[rig.bench.count("a") - 1]))

    rig.bench.does["a"] = deep
    rules = "{ policy: { rules: [ { else: { then: { do: continue } } } ] } }"
    loop = "    loop: { in: [1, 2, 3], iterator: x }\n"
    name = await rig.begin(plane, pipeline(python("a", spec=rules)).replace("    tool:", f"{loop}    tool:"))
    assert await rig.end(name) == "completed"
    errors = [fact.output.error for fact in await done(rig, name)]
    assert errors == [Error("response", "the tool answered with data that is nested deeper than 100 levels")] * 3


@played
async def test_a_bug_of_ours_ends_its_task_run_at_once_and_tells_no_secret(rig: Rig) -> None:
    plane = rig.serve()
    worker = rig.work(plane)
    rig.vault.secrets["key"] = nested(SECRET, 5_000)  # deeper than we can look for texts to hide
    task = python("a", input='{ key: "{{ keychain.key }}" }')
    text = pipeline(task, python("b"), more="keychain: [{ name: key, kind: env, var: KEY }]\n")
    name = await rig.begin(plane, text)
    assert await rig.end(name) == "failed"
    (end,) = await done(rig, name)
    message = "a bug in NoETL ended this task run (RecursionError); the log of the worker tells where"
    assert (end.output.error, rig.bench.runs) == (Error("crash", message), [])
    assert not worker.holdings


@played
async def test_details_of_an_error_that_are_not_json_are_told(rig: Rig) -> None:
    plane = rig.serve()
    rig.work(plane)

    async def fails(call: ToolCall, console: Console) -> Output:  # noqa: ARG001
        details: object = {"rows": [(1, 2)]} if rig.bench.count("a") == 1 else {"rows": object()}
        return Output(status=Status.ERROR, error=Error("sql", "no", details=details))

    rig.bench.does["a"] = fails
    rules = "{ policy: { rules: [ { else: { then: { do: continue } } } ] } }"
    loop = "    loop: { in: [1, 2], iterator: x }\n"
    name = await rig.begin(plane, pipeline(python("a", spec=rules)).replace("    tool:", f"{loop}    tool:"))
    assert await rig.end(name) == "completed"
    one, other = [fact.output.error for fact in await done(rig, name)]
    assert one == Error("sql", "no", details={"rows": [[1, 2]]})
    assert other is not None
    assert (other.kind, other.message[:50]) == ("input", "the tool answered with something that is not JSON:")


@played
async def test_what_cannot_be_recorded_ends_its_task_run_and_parks_nothing(rig: Rig) -> None:
    plane = rig.serve()
    rig.work(plane)

    async def odd(call: ToolCall, console: Console) -> Output:  # noqa: ARG001
        return Output(ref=Reference("blob", {"sha256": object()}))

    rig.bench.does["a"] = odd
    name = await rig.begin(plane, pipeline(python("a"), python("b")))
    assert await rig.end(name, within_s=5.0) == "failed"
    (end,) = await done(rig, name)
    message = "a bug in NoETL ended this task run (TypeError); the log of the worker tells where"
    assert end.output.error == Error("crash", message)
    assert await rig.store.incidents_within(EVERY, 10) == ()
