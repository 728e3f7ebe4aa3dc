"""A script of the author's, for bash or any other interpreter.

Values reach it as environment variables, arguments and standard input, and never become part of its text.
"""

import asyncio
import os
import shlex
import shutil
import tempfile
from codecs import getincrementaldecoder
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

import msgspec

from noetl.engine.layering import timeout_of
from noetl.engine.output import Error, Output, Status
from noetl.engine.reference import word_of
from noetl.engine.secrets import masked
from noetl.ports import Console, ToolCall
from noetl.processes import (
    MEMORY_BYTES_MAX,
    OPEN_FILES_MAX,
    Command,
    Process,
    bound_of,
    clean_environment,
    death,
    task_facts,
)
from noetl.supply.texts import BadJson, TooDeep, json_of
from noetl.tools.script.scratch import Scratch

STDOUT_BYTES_MAX = 16 * 1024 * 1024
SHOWN_BYTES_MAX = 16 * 1024
"""What `output.process` keeps of each stream: its end."""

BEGINNING_CHARS_MAX = 200
"""How much an error shows of what should be JSON and is not."""

LAST_LINE_CHARS_MAX = 500
"""How much an error shows of the last line on standard error."""

VARIABLE_BYTES_MAX = 128 * 1024 - 1
"""What Linux lets one environment variable or argument hold, its name included."""

SHELLS = frozenset({"bash", "sh", "dash", "ksh", "zsh"})
"""Interpreters to which empty lines before a script mean nothing, so that it can stand at the lines of the playbook."""

BYTE_ORDER_MARK = "\ufeff"

LIMITED = 'ulimit -c 0; ulimit -n "$1"; ulimit -d "$2"; shift 2; exec "$@"'
"""What the shell does that starts everything: limits itself, and becomes the interpreter."""

_decoder = getincrementaldecoder("utf-8")


class Refused(Exception):
    """A field that the tool cannot work with."""


class Script:
    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = clean_environment(environment)
        self._scratch = Scratch(Path(self._environment.get("TMPDIR") or tempfile.gettempdir()))
        self._running: set[Process] = set()

    async def run(self, call: ToolCall, console: Console) -> Output:
        printed = Printed(console, bound_of(call.spec, "stdout_bytes_max", STDOUT_BYTES_MAX), call.secrets)
        with ExitStack() as stack:
            try:
                script = stack.enter_context(self._script(call))
                if "script" in call.fields:
                    printed.rename(script[-1], _shown(call, script))
                process = Process(stack.enter_context(self._command(call, script)), printed.take)
            except (Refused, OSError, TypeError, ValueError) as refusal:
                return _failed(printed, Error("input", _reason(refusal)))
            printed.process = process
            return await self._ended(process, printed, call)

    async def close(self) -> None:
        """What still runs is killed, also where it has a grace."""
        for process in tuple(self._running):
            await process.end()
        self._scratch.close()

    async def _ended(self, process: Process, printed: "Printed", call: ToolCall) -> Output:
        timeout_s = timeout_of(call.spec)
        timer = Timer(process, timeout_s)
        self._running.add(process)
        try:
            code = await process.code()
        except asyncio.CancelledError:
            await process.stop()
            raise
        finally:
            timer.cancel()
            self._running.discard(process)
        if timer.is_over:
            message = f"the script took longer than {timeout_s:g} s (`spec.timeout`) and was stopped"
            return _failed(printed, Error("timeout", message, retryable=True))
        return _output(code, printed, parses=call.fields.get("parse") == "json")

    @contextmanager
    def _command(self, call: ToolCall, script: list[str]) -> Iterator[Command]:
        with ExitStack() as stack:
            argv = [*script, *(_text(value) for value in _argv(call))]
            limits = (
                bound_of(call.spec, "open_files_max", OPEN_FILES_MAX),
                bound_of(call.spec, "memory_bytes_max", MEMORY_BYTES_MAX) // 1024,
            )
            environment = self._environment | task_facts(call) | dict(_variables(call))
            _check_values(argv, environment)
            stdin = stack.enter_context(_stdin(call)) if "stdin" in call.fields else None
            whole = ["/bin/sh", "-c", LIMITED, "noetl", *map(str, limits), *argv]
            yield Command(whole, environment, cwd=_cwd(call), stdin=stdin)

    @contextmanager
    def _script(self, call: ToolCall) -> Iterator[list[str]]:
        """The interpreter and the file that it reads. A text becomes a file for as long as the script runs."""
        text, name = call.fields.get("script"), call.fields.get("file")
        if isinstance(text, str):
            interpreter = self._interpreter(call, text.partition("\n")[0])
            with self._scratch.folder() as folder:
                path = folder / (Path(call.file).name or "script")
                path.write_text(_placed(text, call.text_line, interpreter), "utf-8")
                yield [*interpreter, str(path)]
        elif isinstance(name, str) and name:
            path = Path(call.file).parent / name
            yield [*self._for_file(call, path), str(path.absolute())]
        else:
            raise Refused("a script task needs `script`, or `file` with the name of a file beside the playbook")

    def _for_file(self, call: ToolCall, path: Path) -> list[str]:
        first_line = _first_line(path)
        interpreter = self._interpreter(call, first_line.removeprefix(BYTE_ORDER_MARK))
        if first_line.startswith(BYTE_ORDER_MARK) and _is_shell(interpreter):
            message = (
                f"`{path}` begins with a byte order mark, which {interpreter[0]} takes for a part of the first command"
            )
            raise Refused(f"{message}; save it as UTF-8 without one")
        return interpreter

    def _interpreter(self, call: ToolCall, first_line: str) -> list[str]:
        wanted = call.fields.get("interpreter")
        if wanted is None:
            wanted = first_line[2:] if first_line.startswith("#!") else "bash"
        words = shlex.split(str(wanted))
        found = shutil.which(words[0], path=self._environment["PATH"]) if words else None
        if found is None:
            raise Refused(f"there is no interpreter `{wanted}` on this machine; install it, or name another one")
        return [found, *words[1:]]


class Timer:
    """Stops a process when its time is over."""

    def __init__(self, process: Process, timeout_s: float | None) -> None:
        self.is_over = False
        self._process = process
        loop = asyncio.get_running_loop()
        self._handle = loop.call_later(timeout_s, self._stop) if timeout_s is not None else None

    def _stop(self) -> None:
        self.is_over = not self._process.ended.done()
        self._process.terminate()

    def cancel(self) -> None:
        if self._handle is not None:
            self._handle.cancel()


class Printed:
    """What a script prints: shown as it comes, and kept within bounds. Whoever prints too much data is stopped."""

    def __init__(self, console: Console, stdout_bytes_max: int, secrets: frozenset[str] = frozenset()) -> None:
        self._console = console
        self._secrets = secrets
        self._kept_bytes = SHOWN_BYTES_MAX + max((len(_bytes(text)) for text in secrets), default=0)
        self._decoders = {stream: _decoder("replace") for stream in ("stdout", "stderr")}
        self._kept = {"stdout": bytearray(), "stderr": bytearray()}
        self.stdout_bytes_max = stdout_bytes_max
        self.process: Process | None = None
        self._names = (b"\0", b"\0")
        self.is_too_much = False

    def rename(self, script: str, file: str) -> None:
        """Lets messages name what the author wrote where they name the file that was made of its text."""
        self._names = (script.encode(), file.encode())

    def take(self, data: bytes, stream: str) -> None:
        data = data.replace(*self._names) if stream == "stderr" else data
        text = self._decoders[stream].decode(data)
        if text:
            self._console.write(text, stream=stream)
        kept = self._kept[stream]
        kept += data
        if stream == "stderr":
            del kept[: -self._kept_bytes]
        elif len(kept) > self.stdout_bytes_max and self.process is not None:
            self.is_too_much = True
            self.process.kill()

    @property
    def stdout(self) -> bytes:
        return bytes(self._kept["stdout"])

    def end_of(self, stream: str) -> str:
        """Masked before it is cut: what is left of a secret at the cut would be known to nobody as a part of it."""
        shown = _bytes(self._masked(self._kept[stream][-self._kept_bytes :]))
        return shown[-SHOWN_BYTES_MAX:].decode("utf-8", "replace")

    def beginning(self) -> str:
        return self._masked(self._kept["stdout"][: self._kept_bytes])[:BEGINNING_CHARS_MAX]

    def _masked(self, data: bytearray) -> str:
        return str(masked(data.decode("utf-8", "replace"), self._secrets))


# ------------------------------------------------------------------------------ what a script gets


def _argv(call: ToolCall) -> list[object]:
    argv = call.fields.get("argv")
    if argv is None:
        return []
    if not isinstance(argv, list):
        raise Refused(f"`argv` must be a list, and is {word_of(argv)}")
    return argv


def _variables(call: ToolCall) -> Iterator[tuple[str, str]]:
    for name, value in call.input.items():
        if not name.isascii() or not name.isidentifier():
            message = (
                f"the input `{name}` cannot be an environment variable, which shells name with A-Z, a-z, 0-9 and _"
            )
            raise Refused(f"{message}; give it another name, or as `argv` or `stdin`")
        yield name, _text(value)


def _check_values(argv: list[str], environment: Mapping[str, str]) -> None:
    for name, text in [*environment.items(), *(("argv", text) for text in argv)]:
        if "\0" in text:
            raise Refused(f"`{name}` has a NUL in it, which ends a variable or argument; give it as `stdin`")
        size = len(name.encode()) + len(text.encode()) + 1
        if size > VARIABLE_BYTES_MAX:
            message = f"`{name}` has {size} bytes, and a variable or argument can hold {VARIABLE_BYTES_MAX}"
            raise Refused(f"{message}; give it as `stdin`")


def _text(value: object) -> str:
    """Text as it is, nothing as nothing, anything else as JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else msgspec.json.encode(value).decode()


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


@contextmanager
def _stdin(call: ToolCall) -> Iterator[IO[bytes]]:
    with tempfile.TemporaryFile() as file:
        file.write(_text(call.fields["stdin"]).encode())
        file.seek(0)
        yield file


def _cwd(call: ToolCall) -> str | None:
    folder = call.fields.get("cwd")
    if folder is None:
        return None
    if not os.path.isdir(str(folder)):
        raise Refused(f"`cwd` is `{folder}`, and there is no such folder")
    return str(folder)


def _placed(text: str, line: int, interpreter: list[str]) -> str:
    """The text at the lines at which it stands in the playbook, so that a shell's messages name them."""
    return "\n" * (line - 1) + text if _is_shell(interpreter) else text


def _shown(call: ToolCall, interpreter: list[str]) -> str:
    """What messages call a text: the playbook where they count its lines, else the task."""
    return call.file if call.text_line and _is_shell(interpreter) else f"<{call.task}>"


def _is_shell(interpreter: list[str]) -> bool:
    return os.path.basename(interpreter[0]) in SHELLS


def _first_line(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.readline(256).decode("utf-8", "replace").rstrip()
    except OSError as error:
        raise Refused(f"`file` cannot be read: {error}") from error


def _reason(refusal: Exception) -> str:
    return f"the script cannot be started: {refusal}" if not isinstance(refusal, Refused) else str(refusal)


# ------------------------------------------------------------------------------ what it comes to


def _output(code: int, printed: Printed, *, parses: bool) -> Output:
    if printed.is_too_much:
        message = f"the script printed more than {printed.stdout_bytes_max} bytes (`spec.stdout_bytes_max`)"
        return _failed(printed, Error("budget_exceeded", f"{message}; write large data to a file"))
    if code < 0:
        return _failed(printed, Error("crash", death(code), retryable=True))
    if code > 0:
        last = printed.end_of("stderr").strip().rpartition("\n")[2][-LAST_LINE_CHARS_MAX:]
        return _failed(
            printed, Error("exit_code", f"the script left with exit code {code}{last and f': {last}'}"), code
        )
    return _parsed(printed) if parses else Output(data=_plain_text(printed), blocks=_blocks(printed, code))


def _parsed(printed: Printed) -> Output:
    wanted = "standard output must be JSON for `parse: json`, and is"
    if not printed.stdout.strip():
        return _failed(printed, Error("input", f"{wanted} empty"), 0)
    try:
        return Output(data=json_of(printed.stdout, ""), blocks=_blocks(printed, 0))
    except TooDeep as error:
        return _failed(printed, Error("response", f"standard output is JSON that is {error}"), 0)
    except BadJson as error:
        message = f"{wanted} not JSON: {error}; it begins with {printed.beginning()!r}"
        return _failed(printed, Error("input", message), 0)


def _plain_text(printed: Printed) -> str:
    """As `$(…)` gives it: without the line ends after the last line."""
    return printed.stdout.decode("utf-8", "replace").rstrip("\r\n")


def _failed(printed: Printed, error: Error, code: int | None = None) -> Output:
    return Output(status=Status.ERROR, error=error, blocks=_blocks(printed, code))


def _blocks(printed: Printed, code: int | None) -> dict[str, object]:
    process = {"exit_code": code, "stdout": printed.end_of("stdout"), "stderr": printed.end_of("stderr")}
    return {"process": process}
