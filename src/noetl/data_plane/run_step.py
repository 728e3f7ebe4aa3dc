"""One pipeline from its cursor to its end: the engine says what comes next, tools do it, facts are told."""

import asyncio
from collections.abc import Callable, Mapping, Sequence

import msgspec

from noetl.data_plane.holding import Holding, Pipe
from noetl.data_plane.limits import Limits
from noetl.engine import cursor as cursors
from noetl.engine import events as e
from noetl.engine.commands import Reported
from noetl.engine.output import NOTHING, Output, failed
from noetl.engine.pipeline import (
    Await,
    Bound,
    Finished,
    Record,
    Run,
    bind,
    call_child,
    kind_of,
    next_move,
    settle,
    wait,
)
from noetl.engine.program import ReadyPipeline
from noetl.engine.reference import decode_value, encode_value
from noetl.engine.size import Blob, Stored, inline_bytes_max, recorded, store
from noetl.engine.workerside import pipeline_of
from noetl.playbook.model import Directive
from noetl.ports import Chance, Clock, ResultStore, System, Tool, ToolCall, Unavailable

HARMLESS = frozenset({"noop", "resolve"})
"""Kinds without an effect outside: running one again changes nothing."""


class Runner:
    """Runs the pipelines of a worker. `wake` asks for a report to be sent."""

    def __init__(
        self,
        tools: Mapping[str, Tool],
        results: ResultStore,
        system: System,
        limits: Limits,
        wake: Callable[[], None],
    ) -> None:
        self._tools = tools
        self._results = results
        self._clock: Clock = system
        self._chance: Chance = system
        self._limits = limits
        self._wake = wake

    async def run(self, holding: Holding, index: int) -> bool:
        """Until the pipeline ends; the answer is whether it only waits."""
        pipe = holding.pipes[index]
        while True:
            now, draw = self._clock.now(), self._chance.draw()
            move = next_move(holding.program, pipe.cursor, pipe.given, now=now, draw=draw)
            match move:
                case Record(facts, not_before):
                    first = facts[0]
                    if isinstance(first, e.TaskStarted) and self._is_long(not_before):
                        return self._park(holding, index, wait(first, not_before or 0.0))
                    await self._until(not_before)
                    self._tell(holding, index, *facts)
                case Run():
                    if await self._carry_out(holding, index, move):
                        return True
                case Finished():
                    holding.tell(index, _end(holding, pipe, move))
                    self._wake()
                    return False
                case Await():
                    raise AssertionError("a pipeline that waits for a child was handed out")

    async def _carry_out(self, holding: Holding, index: int, work: Run) -> bool:
        """One run of a tool; the answer is whether the pipeline waits now."""
        pipe = holding.pipes[index]
        if self._is_long(work.not_before):
            return self._park(holding, index, wait(work.started, work.not_before or 0.0))
        await self._until(work.not_before)
        await self._acknowledged(holding, pipe)
        if not work.is_recorded:
            self._tell(holding, index, work.started)
        bound = bind(holding.program, work)
        started_at = self._clock.now()
        output = bound if isinstance(bound, Output) else await self._output(holding, work, bound)
        if isinstance(output, e.TaskWaiting):
            return self._park(holding, index, output)
        await self._settle(holding, index, work, _timed(output, holding, started_at, self._clock.now()), bound)
        return False

    async def _output(self, holding: Holding, work: Run, bound: Bound) -> Output | e.TaskWaiting:
        kind, execution_id = work.task.task.kind, holding.granted.execution_id
        if kind == "playbook":
            return call_child(holding.program, execution_id, work, bound)
        if kind == "noop":
            return NOTHING
        tool = self._tools.get(kind)
        if tool is None:
            return failed("input", f"this worker has no tool of kind `{kind}`")
        started = work.started
        call = ToolCall(
            kind,
            bound.fields,
            bound.input,
            bound.auth,
            work.task.spec,
            execution_id,
            holding.claim.step,
            started.task,
            started.task_run_id,
            started.attempt,
            started.key,
        )
        return await self._visible(tool, call)

    async def _visible(self, tool: Tool, call: ToolCall) -> Output:
        """Runs a tool; if it takes long, people see meanwhile that it started."""
        running = asyncio.ensure_future(_safely(tool, call))
        try:
            await asyncio.wait([running], timeout=self._limits.tell_after_s)
            if not running.done():
                self._wake()
            return await running
        finally:
            running.cancel()

    async def _settle(self, holding: Holding, index: int, work: Run, output: Output, bound: Bound | Output) -> None:
        pipe = holding.pipes[index]
        stored = _stored(holding, pipe, work, output)
        await self._keep(stored.blobs)
        own = bound.own if isinstance(bound, Bound) else {}
        now, draw = self._clock.now(), self._chance.draw()
        done = settle(holding.program, pipe.cursor, pipe.given, stored.output, own=own, now=now, draw=draw)
        _move(holding, pipe, done)
        holding.tell(index, recorded(done, stored))
        self._wake()

    async def _keep(self, blobs: Sequence[Blob]) -> None:
        """Stores what is too large for an event before it is reported, however long that takes."""
        while blobs:
            try:
                await self._results.put(blobs)
            except Unavailable:
                await asyncio.sleep(self._limits.backoff_s)
            else:
                return

    def _tell(self, holding: Holding, index: int, *facts: cursors.WorkerFact) -> None:
        for fact in facts:
            _move(holding, holding.pipes[index], fact)
        holding.tell(index, *facts)

    def _park(self, holding: Holding, index: int, fact: e.TaskWaiting) -> bool:
        holding.tell(index, fact)
        self._wake()
        return True

    async def _acknowledged(self, holding: Holding, pipe: Pipe) -> None:
        """A task starts only once the end of the one before is durable, unless nothing that follows has an effect."""
        if pipe.undone and not _is_harmless(pipeline_of(holding.program, _frame(pipe), pipe.given.step), pipe):
            self._wake()
            await pipe.is_told.wait()

    def _is_long(self, not_before: float | None) -> bool:
        return not_before is not None and not_before - self._clock.now() > self._limits.patience_s

    async def _until(self, not_before: float | None) -> None:
        left_s = (not_before or 0.0) - self._clock.now()
        if left_s > 0:
            self._wake()
            await asyncio.sleep(left_s)


async def _safely(tool: Tool, call: ToolCall) -> Output:
    """The one handler of what a tool may raise: an output like any other."""
    try:
        return _plain(await tool.run(call))
    except Exception as bug:  # noqa: BLE001 — whatever a tool raises is an error of its task alone
        return failed("crash", f"the `{call.kind}` tool broke: {type(bug).__name__}: {bug}", retryable=True)


def _plain(output: Output) -> Output:
    """The output as JSON gives it back, so that what is in hand is what is recorded."""
    try:
        data, blocks = decode_value(encode_value(output.data)), decode_value(encode_value(output.blocks))
    except (TypeError, ValueError) as error:
        return failed("input", f"the tool answered with something that is not JSON: {error}")
    assert isinstance(blocks, dict)
    return msgspec.structs.replace(output, data=data, blocks=blocks)


def _timed(output: Output, holding: Holding, started_at: float, ended_at: float) -> Output:
    duration_ms = max(0.0, round((ended_at - started_at) * 1000, 3))
    meta = msgspec.structs.replace(
        output.meta,
        duration_ms=duration_ms,
        started_at=round(started_at, 6),
        ts=round(ended_at, 6),
        delivery=holding.granted.delivery,
    )
    return msgspec.structs.replace(output, meta=meta)


def _stored(holding: Holding, pipe: Pipe, work: Run, output: Output) -> Stored:
    frame = _frame(pipe)
    around = f"workbook/{frame.block}" if frame.block else f"workflow/{pipe.given.step}"
    always = (around, work.task.task.name) in holding.program.kept.tasks
    return store(output, limit_bytes=inline_bytes_max(work.task.spec), always=always)


def _move(holding: Holding, pipe: Pipe, fact: cursors.WorkerFact) -> None:
    kind = kind_of(holding.program, pipe.given.step, pipe.cursor, fact)
    pipe.cursor = cursors.apply(pipe.cursor, fact, holding.program.playbook.dialect, kind)


def _end(holding: Holding, pipe: Pipe, end: Finished) -> Reported:
    """That the pipeline ended, and whether well. The server knows the output from what was told before."""
    run, path = holding.step_run_id, pipe.path
    if path:
        return e.IterationFailed(run, path, NOTHING) if end.is_failed else e.IterationDone(run, path, NOTHING)
    return e.StepFailed(run, NOTHING) if end.is_failed else e.StepDone(run, NOTHING)


def _frame(pipe: Pipe) -> cursors.Frame:
    frame = pipe.cursor.top
    assert isinstance(frame, cursors.Frame)
    return frame


def _is_harmless(pipeline: ReadyPipeline, pipe: Pipe) -> bool:
    """Whether nothing from here to the end has an effect outside. A jump may lead anywhere."""
    rest = pipeline.tasks[_frame(pipe).pc :]
    if _frame(pipe).call or any(task.task.kind not in HARMLESS for task in rest):
        return False
    return not any(rule.then.do is Directive.JUMP for task in rest for rule in task.rules or ())
