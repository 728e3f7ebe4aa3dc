"""Python code of the author's, run in warm child processes and never in this one."""

import asyncio
import sys
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import msgspec

from noetl.engine.depth import TOO_DEEP
from noetl.engine.layering import timeout_of
from noetl.engine.output import Error, Output, Status
from noetl.engine.secrets import MASK, Redactor, hideable, masked
from noetl.ports import Console, ToolCall
from noetl.processes import (
    MEMORY_BYTES_MAX,
    OPEN_FILES_MAX,
    bound_of,
    clean_environment,
    task_facts,
)
from noetl.tools.python.interpreter import fault_of, find_interpreter
from noetl.tools.python.pool import Child, Home, Pool

IDLE_MAX = 16
"""Children kept warm, of all playbooks together."""

RUNS_MAX = 10_000
"""After so many runs a child makes room for a new one."""

ANSWER_BYTES_MAX = 256 * 1024 * 1024
CODE_BYTES_MAX = 10 * 1024 * 1024


class Trouble(msgspec.Struct, frozen=True):
    """What went wrong in a child. `line` is in the file of the code."""

    kind: str
    message: str
    exception_type: str | None = None
    traceback: str | None = None
    line: int | None = None


class Answer(msgspec.Struct, frozen=True):
    """A child that `is_spent` has something of the run still going on in it."""

    data: object = None
    error: Trouble | None = None
    is_spent: bool = False


class Code(msgspec.Struct, frozen=True):
    """A text and where it stands: `folder` is where its imports are looked for first."""

    text: str
    file: str
    line: int
    folder: str


class Refused(Exception):
    """A field that the tool cannot work with."""


_answers = msgspec.json.Decoder(Answer)
_requests = msgspec.json.Encoder()


class Python:
    """`python` is the interpreter where neither the task nor `NOETL_PYTHON` of the environment names one."""

    def __init__(
        self,
        environment: Mapping[str, str],
        *,
        python: str = sys.executable,
        idle_max: int = IDLE_MAX,
        runs_max: int = RUNS_MAX,
    ) -> None:
        self._environment = clean_environment(environment)
        self._python = python
        self._named = environment.get("NOETL_PYTHON")
        self._pool = Pool(self._environment, idle_max=idle_max, runs_max=runs_max)

    async def run(self, call: ToolCall, console: Console) -> Output:
        try:
            code = _code(call)
            request = _request(call, code)
            child = self._pool.take(self._home(call))
        except (Refused, OSError, TypeError, ValueError) as refusal:
            return _failed(Trouble("input", str(refusal)))
        try:
            answer = await self._answered(child, request, timeout_of(call.spec), console)
        except asyncio.CancelledError:
            await child.stop()
            raise
        spare = child if answer.is_spent else self._pool.give(child)
        if spare is not None:
            await (spare.stop() if spare.is_stopped else spare.end())
        if answer.error is not None and answer.error.traceback:
            console.write(answer.error.traceback, stream="stderr")
        return _output(answer, code.file, call.secrets)

    async def close(self) -> None:
        await self._pool.close()

    async def _answered(self, child: Child, request: bytes, timeout_s: float | None, console: Console) -> Answer:
        """What the child says, or what became of it."""
        timer = None if timeout_s is None else asyncio.get_running_loop().call_later(timeout_s, child.terminate)
        try:
            data = await child.ask(request, console)
        finally:
            if timer is not None:
                timer.cancel()
        if child.is_stopped:
            message = f"the code took longer than {timeout_s:g} s (`spec.timeout`) and was stopped"
            return Answer(error=Trouble("timeout", message), is_spent=True)
        if data is not None:
            return _decoded(data)
        death = await child.ended()
        fault = await self._fault(child) if child.runs == 1 else None
        trouble = Trouble("crash", death) if fault is None else Trouble("input", fault)
        return Answer(error=trouble, is_spent=True)

    async def _fault(self, child: Child) -> str | None:
        """Whether it is for its interpreter that a child died of its first run."""
        return await asyncio.to_thread(fault_of, child.home.python, self._environment)

    def _home(self, call: ToolCall) -> Home:
        return Home(
            call.playbook or call.execution_id,
            self._interpreter(call),
            bound_of(call.spec, "memory_bytes_max", MEMORY_BYTES_MAX),
            bound_of(call.spec, "open_files_max", OPEN_FILES_MAX),
            ANSWER_BYTES_MAX,
        )

    def _interpreter(self, call: ToolCall) -> str:
        wanted = call.spec.get("python")
        if wanted is not None:
            return self._found("spec.python", str(wanted), _folder(call))
        return self._found("NOETL_PYTHON", self._named, Path()) if self._named else self._python

    def _found(self, setting: str, wanted: str, folder: Path) -> str:
        found = find_interpreter(wanted, folder, self._environment["PATH"])
        if found is None:
            raise Refused(
                f"`{setting}` is `{wanted}`, and there is no interpreter and no virtual environment of that name; "
                f"looked in {folder.absolute()} and on PATH"
            )
        return found


def _code(call: ToolCall) -> Code:
    text, name = call.fields.get("code"), call.fields.get("file")
    if isinstance(text, str):
        file, line = (call.file, call.text_line) if call.text_line else (f"<{call.task}>", 1)
        return Code(text, file, line, _absolute(call.file))
    if not isinstance(name, str) or not name:
        raise Refused("a python task needs `code`, or `file` with the name of a file beside the playbook")
    path = _folder(call) / name
    return Code(_read(path), str(path), 1, str(path.parent.absolute()))


def _read(path: Path) -> str:
    try:
        data = path.read_bytes()
        text = data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"`file` cannot be read: {error}") from error
    if len(data) > CODE_BYTES_MAX:
        raise Refused(f"`file` has {len(data)} bytes, and may have {CODE_BYTES_MAX}")
    return text


def _folder(call: ToolCall) -> Path:
    """Where the playbook is."""
    return Path(call.file).parent


@lru_cache(maxsize=1024)
def _absolute(file: str) -> str:
    return str(Path(file).parent.absolute())


def _request(call: ToolCall, code: Code) -> bytes:
    return _requests.encode(
        {
            "code": code.text,
            "file": code.file,
            "line": code.line,
            "folder": code.folder,
            "input": call.input,
            "facts": task_facts(call),
        }
    )


def _decoded(data: bytes) -> Answer:
    try:
        return _answers.decode(data)
    except RecursionError:
        return Answer(error=Trouble("response", f"the result is {TOO_DEEP}"))
    except msgspec.DecodeError as error:
        message = f"the child process answered with something else than an answer: {error}"
        return Answer(error=Trouble("crash", message), is_spent=True)


def _output(answer: Answer, file: str, secrets: frozenset[str]) -> Output:
    if answer.error is not None:
        message = _without_half(answer.error.message, secrets)
        return _failed(msgspec.structs.replace(answer.error, message=message), file)
    return Output(data=answer.data, blocks={"py": {"exception_type": None, "traceback": None}})


def _without_half(message: str, secrets: frozenset[str]) -> str:
    """A message that the child has cut, without an end that may be the beginning of a secret."""
    if not secrets or not message.endswith("…"):
        return message
    return Redactor(hideable(secrets), MASK).feed(str(masked(message[:-1], secrets))) + "…"


def _failed(trouble: Trouble, file: str = "") -> Output:
    place = f"{file}:{trouble.line}: " if trouble.line is not None else ""
    details = {"file": file, "line": trouble.line} if trouble.line is not None else None
    error = Error(trouble.kind, f"{place}{trouble.message}", trouble.kind in ("crash", "timeout"), details)
    block = {"exception_type": trouble.exception_type, "traceback": trouble.traceback}
    return Output(status=Status.ERROR, error=error, blocks={"py": block})
