"""One pipeline on a worker: what is durable before what, what is stored where, and what nobody ever sees."""

import asyncio

from noetl.data_plane.limits import Limits
from noetl.engine import events as e
from noetl.engine.output import Error, Output
from noetl.engine.worklist import EVERY
from noetl.ports import Console, ToolCall
from tests.runtime import Rig, answering, chain, forever, head, played, raising

SECRET = "hunter2-hunter2"


def pipeline(*tasks: str, more: str = "") -> str:
    lines = "\n".join(f"      - {task}" for task in tasks)
    return f"{head('line')}{more}workflow:\n  - step: s\n    tool:\n{lines}\n"


def python(name: str, **fields: str) -> str:
    more = "".join(f", {key}: {value}" for key, value in fields.items())
    return f"{{ name: {name}, kind: python, code: x{more} }}"


async def done(rig: Rig, name: str) -> list[e.TaskDone]:
    return [fact for fact in await rig.facts(name) if isinstance(fact, e.TaskDone)]


# ------------------------------------------------------------------------------ order


@played
async def test_a_task_starts_only_once_the_end_of_the_one_before_is_durable(rig: Rig) -> None:
    plane = rig.serve()
    rig.work(plane)
    known: list[int] = []

    async def does(call: ToolCall, console: Console) -> Output:  # noqa: ARG001
        known.append((await rig.names("x1")).count("TaskDone"))
        return Output()

    rig.bench.does = dict.fromkeys(("a", "b", "c"), does)
    name = await rig.begin(plane, pipeline(python("a"), python("b"), python("c")), name="x1")
    assert await rig.end(name) == "completed"
    assert known == [0, 1, 2]


@played
async def test_what_has_no_effect_outside_does_not_wait_for_that(rig: Rig) -> None:
    text = pipeline(python("a"), "{ name: b, kind: noop }", "{ name: c, kind: noop }")
    name = await rig.ran(text)
    assert rig.status(name) == "completed"
    assert len(rig.store.commits) == 2  # the request, and all of the pipeline


@played
async def test_a_jump_back_may_lead_to_an_effect_so_it_waits(rig: Rig) -> None:
    plane = rig.serve()
    rig.work(plane)
    jump = (
        "{ name: b, kind: noop, spec: { policy: { rules: ["
        ' { when: "{{ a.data == 0 }}", then: { do: jump, to: a } },'
        " { else: { then: { do: continue } } } ] } } }"
    )

    async def counts(call: ToolCall, console: Console) -> Output:  # noqa: ARG001
        return Output(data=rig.bench.count("a") - 1)

    rig.bench.does["a"] = counts
    name = await rig.begin(plane, pipeline(python("a"), jump))
    assert await rig.end(name) == "completed"
    assert rig.bench.count("a") == 2
    assert len(rig.store.commits) == 1 + 4  # each end by itself, the last one with the step


@played
async def test_a_short_delay_is_waited_for_on_the_worker(rig: Rig) -> None:
    plane = rig.serve()
    rig.work(plane)
    retry = (
        '{ policy: { rules: [ { when: "{{ _attempt < 3 }}", then: { do: retry, attempts: 3, delay: 2 } },'
        " { else: { then: { do: continue } } } ] } }"
    )
    name = await rig.begin(plane, pipeline(python("a", spec=retry)))
    assert await rig.end(name) == "completed"
    assert [call.attempt for call in rig.bench.runs] == [1, 2, 3]
    assert "TaskWaiting" not in await rig.names(name)
    summary = await rig.store.summary(name)
    assert summary is not None
    assert 4.0 <= summary.changed_at - summary.started_at < 4.5


@played
async def test_another_worker_goes_on_after_the_last_recorded_task(rig: Rig) -> None:
    plane = rig.serve()
    first = rig.work(plane)

    rig.bench.does["b"] = forever
    name = await rig.begin_until(plane, pipeline(python("a"), python("b"), python("c")), "b")
    await first.stop(0.0)
    del rig.bench.does["b"]
    rig.work(plane, "w2")
    assert await rig.end(name) == "completed"
    assert [call.task for call in rig.bench.runs] == ["a", "b", "b", "c"]
    assert rig.bench.runs[1].key == rig.bench.runs[2].key


# ------------------------------------------------------------------------------ outputs


@played
async def test_a_large_output_is_stored_before_it_is_reported_and_read_where_it_is_used(rig: Rig) -> None:
    text = pipeline(python("a"), python("b", input='{ n: "{{ a.data.rows | length }}" }'))
    name = await rig.ran(text, a=answering(Output(data={"rows": ["x" * 1_000] * 300})))
    assert rig.status(name) == "completed"
    assert rig.bench.runs[1].input == {"n": 300}
    lines = await rig.store.read(name, 0, 100)
    assert max(map(len, lines)) < 70_000


@played
async def test_a_large_output_waits_for_a_result_store_that_does_not_answer(rig: Rig) -> None:
    plane = rig.serve()
    rig.work(plane)
    rig.bench.does["a"] = answering(Output(data="x" * 300_000))
    rig.results.is_down = True
    name = await rig.begin(plane, chain("a"))
    await asyncio.sleep(60.0)
    assert rig.status(name) == "running"
    assert "TaskDone" not in await rig.names(name)
    rig.results.is_down = False
    assert await rig.end(name) == "completed"
    assert rig.bench.count("a") == 1


@played
async def test_an_output_that_cannot_be_stored_for_too_long_gives_its_work_back(rig: Rig) -> None:
    plane = rig.serve()
    worker = rig.work(plane, limits=Limits(keep_tries_max=3))

    rig.bench.does["a"] = answering(Output(data="x" * 300_000))
    rig.results.is_down = True
    name = await rig.begin(plane, chain("a"))
    await rig.until(lambda: rig.bench.count("a") > 1)
    rig.results.is_down = False
    assert await rig.end(name) == "completed"
    assert not worker.holdings


@played
async def test_an_output_that_is_no_json_is_an_error_of_the_task(rig: Rig) -> None:
    name = await rig.ran(chain("a"), a=answering(Output(data=object())))
    assert rig.status(name) == "failed"
    (end,) = await done(rig, name)
    assert end.output.error is not None
    assert "something that is not JSON" in end.output.error.message


@played
async def test_whatever_a_tool_raises_is_an_error_of_its_task_alone(rig: Rig) -> None:
    name = await rig.ran(chain("a"), a=raising(ZeroDivisionError("no")))
    assert rig.status(name) == "failed"
    (end,) = await done(rig, name)
    assert end.output.error is not None
    assert end.output.error.message == "the `python` tool broke: ZeroDivisionError: no"
    assert await rig.store.incidents_within(EVERY, 10) == ()


@played
async def test_a_cancellation_that_comes_out_of_a_tool_is_an_error_of_its_task_alone(rig: Rig) -> None:
    name = await rig.ran(chain("a"), a=raising(asyncio.CancelledError()))
    assert rig.status(name) == "failed"
    (end,) = await done(rig, name)
    assert end.output.error == Error(
        "crash", "the `python` tool broke: CancelledError: nobody had asked for it", retryable=True
    )


@played
async def test_a_tool_that_leaves_the_process_only_breaks_its_task(rig: Rig) -> None:
    name = await rig.ran(chain("a"), a=raising(SystemExit(3)))
    assert rig.status(name) == "failed"
    (end,) = await done(rig, name)
    assert end.output.error == Error("crash", "the `python` tool broke: SystemExit: 3", retryable=True)


@played
async def test_a_task_that_cancels_itself_gives_its_work_to_others(rig: Rig) -> None:
    async def stops_once(_call: ToolCall, _console: Console) -> Output:
        if rig.bench.count("a") == 1:
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
        await asyncio.sleep(0)
        return Output(data="done")

    name = await rig.ran(chain("a"), a=stops_once)
    assert rig.status(name) == "completed"
    assert rig.bench.count("a") == 2


@played
async def test_an_output_tells_when_and_how_long(rig: Rig) -> None:
    name = await rig.ran(chain("a"), a=answering(Output(), after_s=1.5))
    (end,) = await done(rig, name)
    assert end.output.meta.duration_ms == 1_500.0
    assert end.output.meta.delivery == 1


@played
async def test_a_call_says_where_it_stands_in_the_authors_file(rig: Rig) -> None:
    plane = rig.serve()
    rig.work(plane)
    await rig.end(await rig.begin(plane, chain("a")))
    (call,) = rig.bench.runs
    assert (call.playbook, call.step, call.task) == ("chain", "a", "a")
    assert call.place.startswith("playbook.yaml:")
    assert call.text_line == int(call.place.split(":")[1])


# ------------------------------------------------------------------------------ what tools print


@played
async def test_what_a_tool_prints_is_kept_beside_the_log_while_it_runs(rig: Rig) -> None:
    plane = rig.serve()
    rig.work(plane)
    gate = asyncio.Event()

    async def prints(call: ToolCall, console: Console) -> Output:  # noqa: ARG001
        console.write("hello\n")
        console.write("oh\n", stream="stderr")
        await gate.wait()
        return Output()

    rig.bench.does["a"] = prints
    name = await rig.begin(plane, chain("a"))
    await asyncio.sleep(1.0)
    chunks = await rig.store.logs(name, 0, 10)
    assert [(chunk.stream, chunk.text, chunk.number) for chunk in chunks] == [
        ("stdout", "hello\n", 1),
        ("stderr", "oh\n", 2),
    ]
    gate.set()
    await rig.end(name)
    assert not any(b"hello" in line for line in await rig.store.read(name, 0, 100))


# ------------------------------------------------------------------------------ secrets

KEYCHAIN = "keychain:\n  - { name: api, kind: postgres_credential }\n"


def recorded(rig: Rig) -> bytes:
    """Everything that anyone could read later."""
    logs = b"".join(line for log in rig.store._logs.values() for line in log)
    printed = "".join(chunk.text for chunks in rig.store._printed.values() for chunk in chunks)
    stored = b"".join(rig.results._blobs.values())
    return logs + printed.encode() + stored


@played
async def test_a_secret_reaches_its_tool_and_nothing_that_is_recorded(rig: Rig) -> None:
    plane = rig.serve()
    worker = rig.work(plane)
    rig.vault.secrets["api"] = {"token": SECRET}

    async def leaks(call: ToolCall, console: Console) -> Output:
        console.write(f"the token is {call.input['t']}\n")
        return Output(data={"echo": call.input["t"], "large": f"{SECRET} " * 20_000})

    rig.bench.does["a"] = leaks
    text = pipeline(
        python("a", input='{ t: "{{ keychain.api.token }}" }', set='{ ctx.t: "{{ output.data.echo }}" }'),
        more=KEYCHAIN,
    )
    name = await rig.begin(plane, text)
    assert await rig.end(name) == "completed"
    await worker.stop(1.0)
    assert rig.bench.runs[0].input == {"t": SECRET}
    assert SECRET.encode() not in recorded(rig)
    assert b"***" in recorded(rig)


@played
async def test_the_credential_that_auth_names_goes_to_the_tool_and_nowhere_else(rig: Rig) -> None:
    plane = rig.serve()
    rig.work(plane)
    rig.vault.secrets["api"] = {"token": SECRET}

    async def leaks(call: ToolCall, console: Console) -> Output:  # noqa: ARG001
        raise RuntimeError(f"refused with {call.credential}")

    rig.bench.does["a"] = leaks
    name = await rig.begin(plane, pipeline(python("a", auth="api"), more=KEYCHAIN))
    assert await rig.end(name) == "failed"
    assert rig.bench.runs[0].credential == {"token": SECRET}
    assert rig.bench.runs[0].auth == "api"
    assert SECRET.encode() not in recorded(rig)


@played
async def test_a_template_that_fails_on_a_secret_does_not_tell_it(rig: Rig) -> None:
    plane = rig.serve()
    rig.work(plane)
    rig.vault.secrets["api"] = {"token": SECRET}
    text = pipeline(python("a", input='{ t: "{{ keychain.api.token + 1 }}" }'), more=KEYCHAIN)
    name = await rig.begin(plane, text)
    assert await rig.end(name) == "failed"
    assert rig.bench.runs == []
    assert SECRET.encode() not in recorded(rig)


@played
async def test_a_secret_that_cannot_be_had_is_an_error_that_can_be_retried(rig: Rig) -> None:
    plane = rig.serve()
    rig.work(plane)
    rig.vault.secrets["api"] = "x"
    text = pipeline(python("a", input='{ t: "{{ keychain.api }}" }'), more=KEYCHAIN)
    playbook = await rig.register(text)
    asked = await plane.request(playbook, {}, "x1")
    assert asked == "x1"
    del rig.vault.secrets["api"]
    assert await rig.end("x1") == "failed"
    (end,) = await done(rig, "x1")
    assert end.output.error is not None
    assert (end.output.error.kind, end.output.error.retryable) == ("keychain", True)


@played
async def test_an_execution_whose_secrets_are_not_there_does_not_begin(rig: Rig) -> None:
    name = await rig.ran(pipeline(python("a"), more=KEYCHAIN))
    assert rig.status(name) == "failed"
    assert rig.bench.runs == []


# ------------------------------------------------------------------------------ what is selected


def selecting(name: str, select: str, **fields: str) -> str:
    return python(name, spec=f"{{ result: {{ select: {{ {select} }} }} }}", **fields)


@played
async def test_what_is_selected_may_read_the_workload_and_outputs_that_nothing_else_reads(rig: Rig) -> None:
    plane = rig.serve()
    rig.work(plane)
    large = Output(data={"rows": ["x" * 1_000] * 300})

    async def answers(call: ToolCall, console: Console) -> Output:  # noqa: ARG001
        return large

    rig.bench.does = {"a": answers, "b": answers}
    text = f"""{head("line")}workload: {{ factor: 2, other: 3 }}
executor: {{ spec: {{ result: {{ select: {{ both: "{{{{ output.data.rows | length * workload.factor }}}}" }} }} }} }}
workflow:
  - step: first
    tool: {python("a")}
    next: {{ arcs: [ {{ step: second, when: "{{{{ output.data.both == 600 }}}}" }} ] }}
  - step: second
    spec: {{ result: {{ select: {{ sum: "{{{{ first.data.both + (first.data.rows | length) }}}}" }} }} }}
    tool: {python("b", set='{ ctx.sum: "{{ output.data.sum }}" }')}
    next: {{ arcs: [ {{ step: third, when: "{{{{ output.data.sum == 900 and ctx.sum == 900 }}}}" }} ] }}
  - step: third
    tool: {{ kind: noop }}
"""
    name = await rig.begin(plane, text)
    assert await rig.end(name) == "completed"
    assert [fact.output.selected for fact in await done(rig, name)] == [{"both": 600}, {"both": 600, "sum": 900}, {}]
    assert max(map(len, await rig.store.read(name, 0, 100))) < 5_000


@played
async def test_what_is_selected_is_known_to_a_worker_that_goes_on(rig: Rig) -> None:
    plane = rig.serve()
    first = rig.work(plane)

    rig.bench.does = {"a": answering(Output(data=["x" * 1_000] * 300)), "b": forever}
    given = '{ named: "{{ a.data.n }}", prev: "{{ _prev.n }}", size: "{{ _prev | length }}" }'
    name = await rig.begin_until(
        plane, pipeline(selecting("a", 'n: "{{ output.data | length }}"'), python("b", input=given)), "b"
    )
    await first.stop(0.0)
    del rig.bench.does["b"]
    rig.work(plane, "w2")
    assert await rig.end(name) == "completed"
    assert [call.input for call in rig.bench.runs[1:]] == [{"named": 300, "prev": 300, "size": 300}] * 2


@played
async def test_a_selection_that_fails_is_an_error_of_the_task(rig: Rig) -> None:
    name = await rig.ran(pipeline(selecting("a", 'n: "{{ output.data.rows | length }}"')))
    assert rig.status(name) == "failed"
    [fact] = await done(rig, name)
    assert fact.output.error is not None
    assert fact.output.error.kind == "template"


# ------------------------------------------------------------------------------ in time


@played
async def test_a_tool_that_does_not_look_at_the_time_is_stopped_when_it_is_used_up(rig: Rig) -> None:
    name = await rig.ran(pipeline("{ name: a, kind: duckdb, command: x, spec: { timeout: 40 } }"), a=forever)
    assert rig.status(name) == "failed"
    [fact] = await done(rig, name)
    assert fact.output.error is not None
    assert (fact.output.error.kind, fact.output.error.retryable) == ("timeout", True)
    assert fact.output.error.message == "the task took longer than 40 s (`spec.timeout`) and was stopped"
    assert fact.output.meta.duration_ms == 40_000
    assert rig.bench.running == []


@played
async def test_a_timeout_that_a_tool_meets_with_itself_is_its_own(rig: Rig) -> None:
    name = await rig.ran(
        pipeline("{ name: a, kind: duckdb, command: x, spec: { timeout: 40 } }"), a=raising(TimeoutError("the disk"))
    )
    assert rig.status(name) == "failed"
    [fact] = await done(rig, name)
    assert fact.output.error is not None
    assert fact.output.error.kind == "crash"
    assert fact.output.error.message == "the `duckdb` tool broke: TimeoutError: the disk"
