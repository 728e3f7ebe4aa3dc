"""One pipeline from its cursor to its end: the engine says what comes next, tools do it, facts are told."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence

import msgspec

from noetl.data_plane.console import Printed, TaskConsole
from noetl.data_plane.equipment import Equipment
from noetl.data_plane.holding import Holding, LeaseOver, Pipe
from noetl.data_plane.keychain import Keychain, Secrets
from noetl.data_plane.limits import Limits
from noetl.data_plane.plain import plain
from noetl.data_plane.trace import trace_of
from noetl.engine import cursor as cursors
from noetl.engine import events as e
from noetl.engine.commands import Reported
from noetl.engine.layering import timeout_of
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
from noetl.engine.reference import encode_value
from noetl.engine.secrets import masked, texts_of
from noetl.engine.size import Blob, Stored, inline_bytes_max, recorded, store, ttl_of
from noetl.engine.workerside import pipeline_of
from noetl.playbook.model import Directive
from noetl.ports import Chance, Clock, Tool, ToolCall, Unavailable
from noetl.supply.outcome import Escaped, outcome

log = logging.getLogger(__name__)

HARMLESS = frozenset({"noop", "resolve"})
"""Kinds without an effect outside: running one again changes nothing."""


SELF_TIMED = frozenset({"http", "python", "script"})
"""Kinds that keep to `spec.timeout` by themselves: they know more about what took so long."""


class Runner:
    """Runs the pipelines of a worker. `wake` asks for a report to be sent."""

    def __init__(self, equipment: Equipment, limits: Limits, wake: Callable[[], None]) -> None:
        self._tools = equipment.tools
        self._results = equipment.results
        self._clock: Clock = equipment.system
        self._chance: Chance = equipment.system
        self._keychain = Keychain(equipment.credentials)
        self._limits = limits
        self._wake = wake
        self.printed = Printed()
        self._may_begin = asyncio.Event()
        self._may_begin.set()

    def hold(self) -> None:
        """From now on no task begins: a pipeline that comes to one waits until it is stopped."""
        self._may_begin.clear()

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
        await self._may_begin.wait()
        if not work.is_recorded:
            self._tell(holding, index, work.started)
        match await outcome(self._attempted(holding, index, work)):
            case LeaseOver() | Unavailable() as trouble:
                raise trouble
            case Exception() as bug:  # told at once: given back, the work would only break the next worker
                log.error("task run %s broke\n%s", work.started.task_run_id, trace_of(bug))
                await self._settle(holding, index, work, _Ran(NOTHING, {}, frozenset()), _broken(bug))
                return False
            case is_waiting:
                return is_waiting

    async def _attempted(self, holding: Holding, index: int, work: Run) -> bool:
        ran = await self._ran(holding, work)
        if isinstance(ran.output, e.TaskWaiting):
            encode_value(ran.output)
            return self._park(holding, index, ran.output)
        await self._settle(holding, index, work, ran, ran.output)
        return False

    async def _ran(self, holding: Holding, work: Run) -> "_Ran":
        """Fetches secrets, binds, runs. From here on no secret is left in anything."""
        started_at = self._clock.now()
        try:
            secrets = await self._keychain.secrets(holding.program, work.task, holding.claim.workload)
            bound = bind(holding.program, _with_keychain(work, secrets))
            if isinstance(bound, Output):
                return _Ran(masked(bound, secrets.texts), {}, secrets.texts)  # type: ignore[arg-type]
            credential, texts = await self._credential(holding, bound, secrets)
            output = await self._output(holding, work, bound, credential, texts)
        except Unavailable as trouble:
            return _Ran(failed("keychain", str(trouble), retryable=True), {}, frozenset())
        if isinstance(output, Output):
            output = _timed(output, holding, started_at, self._clock.now())
        return _Ran(masked(output, texts), bound.own, texts)  # type: ignore[arg-type]

    async def _credential(self, holding: Holding, bound: Bound, secrets: Secrets) -> tuple[object, frozenset[str]]:
        if bound.auth is None:
            return None, secrets.texts
        value = await self._keychain.value(holding.program, bound.auth, holding.claim.workload)
        return value, secrets.texts | frozenset(texts_of(value))

    async def _output(
        self, holding: Holding, work: Run, bound: Bound, credential: object, texts: frozenset[str]
    ) -> Output | e.TaskWaiting:
        kind, execution_id, started = work.task.task.kind, holding.granted.execution_id, work.started
        if kind == "playbook":
            return call_child(holding.program, execution_id, work, bound, self._clock.now())
        tool = self._tools.get(kind)
        if tool is None:
            return failed("input", f"this worker has no tool of kind `{kind}`")
        call = ToolCall(
            kind,
            bound.fields,
            bound.input,
            work.task.spec,
            execution_id,
            holding.claim.step,
            started.task,
            started.task_run_id,
            started.attempt,
            started.key,
            holding.program.playbook.metadata.path,
            work.task.path,
            _place(holding, work),
            bound.auth,
            credential,
            texts,
            holding.program.places.file,
            holding.program.text_line(work.task),
        )
        console = TaskConsole(self.printed, self._clock, execution_id, started.task_run_id, texts)
        holding.check(self._clock.monotonic())
        return await self._visible(tool, call, console)

    async def _visible(self, tool: Tool, call: ToolCall, console: TaskConsole) -> Output:
        """Runs a tool; if it takes long, people see meanwhile that it started."""
        telling = asyncio.get_running_loop().call_later(self._limits.tell_after_s, self._wake)
        try:
            match await outcome(_in_time(tool, call, console)):
                case Exception() as bug:  # whatever a tool raises is an error of its task alone
                    return failed("crash", f"the `{call.kind}` tool broke: {_words(bug)}", retryable=True)
                case output:
                    return output
        finally:
            telling.cancel()
            console.end()

    async def _settle(self, holding: Holding, index: int, work: Run, ran: "_Ran", output: Output) -> None:
        pipe = holding.pipes[index]
        stored = _stored(holding, pipe, work, output)
        await self._keep(stored.blobs)
        now, draw = self._clock.now(), self._chance.draw()
        settled = settle(holding.program, pipe.cursor, pipe.given, stored.output, own=ran.own, now=now, draw=draw)
        done = masked(settled, ran.secrets)
        assert isinstance(done, e.TaskDone)
        told = recorded(done, stored)
        _check_recordable(told)
        _move(holding, pipe, done)
        holding.tell(index, told)
        self._wake()

    async def _keep(self, blobs: Sequence[Blob]) -> None:
        """Stores what is too large for an event before it is reported. `Unavailable` where that takes too long."""
        tries = 0
        while blobs:
            try:
                await self._results.put(blobs)
                return
            except Unavailable:
                tries += 1
                if tries >= self._limits.keep_tries_max:
                    raise
                await asyncio.sleep(self._limits.backoff_after(tries))

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


class _Ran(msgspec.Struct, frozen=True):
    """What a run came to, the task's own input, and the secrets that it knew."""

    output: Output | e.TaskWaiting
    own: Mapping[str, object]
    secrets: frozenset[str]


def _check_recordable(told: e.TaskDone) -> None:
    """What cannot be recorded is met here, as a crash of this run, and by no server. Data of tools is JSON by now."""
    encode_value(msgspec.structs.replace(told, output=msgspec.structs.replace(told.output, data=None)))


def _broken(bug: Exception) -> Output:
    """Without the words of the bug, in which a secret may be."""
    message = f"a bug in NoETL ended this task run ({type(bug).__name__}); the log of the worker tells where"
    return failed("crash", message)


def _words(bug: Exception) -> str:
    return str(bug) if isinstance(bug, Escaped) else f"{type(bug).__name__}: {bug}"


async def _in_time(tool: Tool, call: ToolCall, console: TaskConsole) -> Output:
    limit_s = timeout_of(call.spec) if call.kind not in SELF_TIMED else None
    limit = asyncio.timeout(limit_s)
    try:
        async with limit:
            return plain(await tool.run(call, console))
    except TimeoutError:
        if not limit.expired():
            raise
        message = f"the task took longer than {limit_s:g} s (`spec.timeout`) and was stopped"
        return failed("timeout", message, retryable=True)


def _with_keychain(work: Run, secrets: Secrets) -> Run:
    return msgspec.structs.replace(work, scope=work.scope | {"keychain": secrets.values}) if secrets.values else work


def _place(holding: Holding, work: Run) -> str:
    places = holding.program.places
    span = places.find(work.task.path)
    return f"{places.file}:{span.line}:{span.column}" if span is not None else ""


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
    spec = work.task.spec
    return store(output, limit_bytes=inline_bytes_max(spec), always=always, ttl=ttl_of(spec))


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
