"""What every tool keeps to, whatever it does. The author of a plugin runs the same checks:

SUBJECT = Subject(KIND, make, works=call, breaks=call, lasts=call)

@pytest.mark.parametrize("check", CHECKS, ids=name_of)
def test_the_tool_keeps_the_contract(check: Check) -> None:
    asyncio.run(check(SUBJECT))
"""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from noetl.engine.output import Error, Output, Status
from noetl.playbook.kinds import Kind
from noetl.playbook.wellformed import faults
from noetl.ports import Tool, ToolCall

PATIENCE_S = 30.0
"""How long a check waits before it says that a tool hangs."""

TOGETHER = 5

RETRYABLE = {
    "connect": True, "timeout": True, "crash": True, "exception": False, "exit_code": False, "input": False,
    "template": False, "budget_exceeded": False,
}  # fmt: skip
"""Kinds whose answer to "again?" is always the same."""


class Subject(msgspec.Struct, frozen=True):
    """A tool and calls of it: one that `works`, those that break, and one that `lasts` longer than anyone waits.

    `block` is what the kind adds to every output, as its `blocks` say. A tool that never takes long has nothing that
    `lasts`.
    """

    kind: Kind
    make: Callable[[], Tool]
    works: ToolCall
    breaks: tuple[ToolCall, ...] = ()
    lasts: ToolCall | None = None
    block: str | None = None


Check = Callable[[Subject], Awaitable[None]]


class Heard:
    """A console that keeps everything, by stream."""

    def __init__(self) -> None:
        self.texts = {"stdout": "", "stderr": ""}

    def write(self, text: str, *, stream: str = "stdout") -> None:
        self.texts[stream] += text


def error_of(output: Output) -> Error:
    assert output.error is not None, output
    return output.error


@asynccontextmanager
async def made(subject: Subject) -> AsyncIterator[Tool]:
    tool = subject.make()
    try:
        yield tool
    finally:
        await tool.close()


async def ran(tool: Tool, call: ToolCall) -> Output:
    running = asyncio.create_task(tool.run(call, Heard()))
    await asyncio.wait([running], timeout=PATIENCE_S)
    assert running.done() or not running.cancel(), f"the tool took longer than {PATIENCE_S:g} s"
    assert not running.cancelled(), "the tool let a CancelledError out; whatever goes wrong is to be an output"
    return running.result()


async def it_is_called_as_its_spec_says(subject: Subject) -> None:
    kind = subject.kind
    assert list(faults(kind)) == []
    for call in (subject.works, *([subject.lasts] if subject.lasts else ())):
        assert call.kind == kind.name
        assert set(call.fields) <= set(kind.fields)
    assert kind.doc.endswith(".")
    assert all(field.doc.endswith(".") for field in (*kind.fields.values(), *kind.knobs.values()))


async def it_answers_with_data_that_is_json(subject: Subject) -> None:
    async with made(subject) as tool:
        output = await ran(tool, subject.works)
    assert (output.status, output.error) == (Status.OK, None)
    assert msgspec.json.decode(msgspec.json.encode(output.data)) == output.data


async def it_tells_every_trouble_as_an_output(subject: Subject) -> None:
    async with made(subject) as tool:
        for call in subject.breaks:
            output = await ran(tool, call)
            error = error_of(output)
            assert output.status is Status.ERROR
            assert error.message
            assert error.retryable is RETRYABLE.get(error.kind, error.retryable)


async def its_block_is_always_there_with_the_same_words(subject: Subject) -> None:
    if subject.block is None:
        return
    async with made(subject) as tool:
        blocks = [(await ran(tool, call)).blocks for call in (subject.works, *subject.breaks)]
    words = [set(msgspec.convert(block[subject.block], dict[str, object])) for block in blocks]
    promised = set(subject.kind.blocks[subject.block])
    assert words == [promised or words[0]] * len(words)


async def it_runs_several_calls_at_once(subject: Subject) -> None:
    async with made(subject) as tool:
        outputs = await asyncio.gather(*(ran(tool, subject.works) for _ in range(TOGETHER)))
    assert [output.status for output in outputs] == [Status.OK] * TOGETHER


async def it_goes_on_after_a_trouble(subject: Subject) -> None:
    async with made(subject) as tool:
        for call in subject.breaks:
            await ran(tool, call)
            assert (await ran(tool, subject.works)).status is Status.OK


async def its_time_is_bounded_by_the_spec(subject: Subject) -> None:
    if subject.lasts is None:
        return
    hurried = msgspec.structs.replace(subject.lasts, spec={**subject.lasts.spec, "timeout": 0.2})
    async with made(subject) as tool:
        error = error_of(await ran(tool, hurried))
    assert (error.kind, error.retryable) == ("timeout", True)


async def it_stops_when_it_is_cancelled_and_can_run_again(subject: Subject) -> None:
    if subject.lasts is None:
        return
    async with made(subject) as tool:
        running = asyncio.create_task(tool.run(subject.lasts, Heard()))
        await asyncio.wait([running], timeout=0.2)
        running.cancel()
        await asyncio.wait([running], timeout=PATIENCE_S)
        assert running.cancelled()
        assert (await ran(tool, subject.works)).status is Status.OK


async def nothing_is_left_of_it_once_it_is_closed(subject: Subject) -> None:
    before = open_files(), processes()
    async with made(subject) as tool:
        for call in (subject.works, *subject.breaks):
            await ran(tool, call)
        await tool.close()
    assert (open_files(), processes()) == before


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir())) if Path("/proc/self/fd").exists() else 0


def processes() -> set[int]:
    """Our children, by number."""
    found = Path(f"/proc/self/task/{os.getpid()}/children")
    return set(map(int, found.read_text().split())) if found.exists() else set()


CHECKS: tuple[Check, ...] = (
    it_is_called_as_its_spec_says,
    it_answers_with_data_that_is_json,
    it_tells_every_trouble_as_an_output,
    its_block_is_always_there_with_the_same_words,
    it_runs_several_calls_at_once,
    it_goes_on_after_a_trouble,
    its_time_is_bounded_by_the_spec,
    it_stops_when_it_is_cancelled_and_can_run_again,
    nothing_is_left_of_it_once_it_is_closed,
)


def name_of(thing: object) -> str:
    return thing.kind.name if isinstance(thing, Subject) else str(getattr(thing, "__name__", thing))
