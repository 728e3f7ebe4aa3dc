"""The program of a child process: it runs an author's code, one request after the other.

It stands alone with `results.py` beside it, so that any interpreter from 3.8 on can run it, that of a virtual
environment too. A request and its answer are JSON, each after its length in four bytes.
"""

from __future__ import annotations

import builtins
import gc
import json
import os
import resource
import sys
import types
from contextlib import suppress

TYPE_CHECKING = False  # whoever checks types knows the name; `typing` itself would take its time at every start
if TYPE_CHECKING:
    import signal as _signal
    import traceback
    from collections.abc import Callable, Sequence
    from typing import Any, TextIO

    Handler = Callable[[int, types.FrameType | None], Any] | int
    Json = dict[str, Any]
else:
    import _signal  # `signal` takes its time too, and makes every answer an enum

if TYPE_CHECKING or __name__ != "__main__":
    from noetl.tools.python.results import Refused, Unfit, encode, encoded
else:  # our package is not there; under a name of its own, the file beside this one hides no module of the author's
    sys.modules["noetl_child"] = types.ModuleType("noetl_child")
    sys.modules["noetl_child"].__path__ = [os.path.dirname(__file__)]
    from noetl_child.results import Refused, Unfit, encode, encoded

NAME = "noetl_task"
"""The module that the code is, while it runs."""

CODES_MAX = 256
TEXT_CHARS_MAX = 4_000
TRACEBACK_CHARS_MAX = 60_000
NO_MEMORY = b'{"error":{"kind":"crash","message":"the code ran out of memory (`spec.memory_bytes_max`)"}'
TAKES_ALL = 0x08
"""The mark of a function with `**`: inspect.CO_VARKEYWORDS, whose module takes long to import."""

MUTE_CODE = 119
"""With this exit code a child ends that finds its channel closed by the code."""

TIMERS = (_signal.ITIMER_REAL, _signal.ITIMER_VIRTUAL, _signal.ITIMER_PROF)
LIMITS = sorted({getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")})

READ_BYTES = 64 * 1024
"""More would cost a mapping of its own at every read."""

_read = json.JSONDecoder().raw_decode
_codes: dict[tuple[str, str, int], types.CodeType] = {}
_takers: dict[types.CodeType, Taker] = {}


def main() -> None:
    requests, answers, memory_bytes_max, open_files_max, answer_bytes_max = map(int, sys.argv[1:6])
    os.set_inheritable(requests, False)
    os.set_inheritable(answers, False)
    _limit(memory_bytes_max, open_files_max)
    del sys.modules["resource"]  # so that it shows who may have changed a limit: nobody but those who import it
    sys.path[0] = ""
    setting = Setting()
    while (data := _receive(requests)) is not None:
        _send(answers, answer(_read(data.decode())[0], setting, answer_bytes_max))
        setting.clear()


class Setting:
    """What every run starts with, whatever the one before left behind."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.folder = os.getcwd()
        self.path = sys.path[1:]
        self.environment = dict(os.environ)
        self.seen: dict[bytes, bytes] = os.environ._data.copy()  # type: ignore[attr-defined]  # noqa: SLF001
        self.stdout = _stream(1)
        self.stderr = _stream(2)
        self.builtins = builtins.__dict__.copy()
        self.recursion = sys.getrecursionlimit()
        self.hooks = sys.gettrace(), sys.getprofile()
        self.umask = os.umask(0o077)
        self.niceness = os.getpriority(os.PRIO_PROCESS, 0)
        self.limits = _limits()
        self.handlers = _handlers()
        self.blocked = _signal.pthread_sigmask(_signal.SIG_BLOCK, ())
        self.settle()

    def restore(self, folder: str, facts: dict[str, str]) -> None:
        self._restore_environment(facts)
        os.chdir(self.folder)
        sys.argv = [""]
        sys.path[:] = [folder, *self.path] if folder else self.path
        self.stdout = sys.stdout = _stream(1) if self.stdout.closed else self.stdout
        self.stderr = sys.stderr = _stream(2) if self.stderr.closed else self.stderr

    def mend(self) -> None:
        """Takes back what the code did to the language itself, which we speak too."""
        if builtins.__dict__ != self.builtins:
            builtins.__dict__.clear()
            builtins.__dict__.update(self.builtins)
        if sys.getrecursionlimit() != self.recursion:
            sys.setrecursionlimit(self.recursion)
        if (sys.gettrace(), sys.getprofile()) != self.hooks:
            sys.settrace(self.hooks[0])
            sys.setprofile(self.hooks[1])

    def settle(self) -> None:
        """Takes back what the code did to the process: at once, since an alarm would go off in the next run."""
        os.umask(self.umask)
        gc.enable()
        if "signal" in sys.modules:
            self._settle_signals()

    def _settle_signals(self) -> None:
        for timer in TIMERS:
            _signal.setitimer(timer, 0)
        _signal.pthread_sigmask(_signal.SIG_SETMASK, self.blocked)
        for number, handler in self.handlers.items():
            if _signal.getsignal(number) is not handler:
                _signal.signal(number, handler)

    def _restore_environment(self, facts: dict[str, str]) -> None:
        held = os.environ._data  # type: ignore[attr-defined]  # noqa: SLF001 — compared at every run, so it must be quick
        if held != self.seen:
            os.environ.clear()
            os.environ.update(self.environment)
        for name, value in facts.items():
            if self.environment.get(name) != value:
                os.environ[name] = self.environment[name] = value
        self.seen = held.copy()

    def flush(self) -> None:
        for stream in (sys.stdout, sys.stderr, self.stdout, self.stderr):
            with suppress(Exception):  # whatever the author put there
                stream.flush()

    def clear(self) -> None:
        """Lets go of what the run held."""
        module = sys.modules.pop(NAME, None)
        if module is not None:
            module.__dict__.clear()

    def is_spent(self) -> bool:
        """Whether the run left something that would reach into the next one, and that cannot be taken back."""
        if os.getpriority(os.PRIO_PROCESS, 0) != self.niceness:
            return True
        if "resource" in sys.modules and _limits() != self.limits:
            return True
        return self._is_busy()

    def _is_busy(self) -> bool:
        """Whether there is a thread or a process that the run left behind."""
        threading = sys.modules.get("threading")
        if threading is not None and threading.active_count() > 1:
            return True
        if not hasattr(os, "waitid"):
            return False
        try:
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return False
        return True


def _stream(descriptor: int) -> TextIO:
    return open(descriptor, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)


def _handlers() -> dict[int, Handler]:
    """Who gets which signal, where that can be said in Python."""
    found = {number: _signal.getsignal(number) for number in sorted(_signal.valid_signals())}
    return {number: handler for number, handler in found.items() if handler is not None}


def _limits() -> list[tuple[int, int]]:
    return [resource.getrlimit(kind) for kind in LIMITS]


def _limit(memory_bytes_max: int, open_files_max: int) -> None:
    # On Linux RLIMIT_DATA counts what is written to; RLIMIT_AS would count what libraries only reserve.
    memory = resource.RLIMIT_DATA if sys.platform == "linux" else resource.RLIMIT_AS
    for kind, wanted in (
        (memory, memory_bytes_max),
        (resource.RLIMIT_NOFILE, open_files_max),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(kind)[1]
        bound = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with suppress(ValueError, OSError):  # macOS refuses some
            resource.setrlimit(kind, (bound, bound))


# ------------------------------------------------------------------------------ one request


def answer(request: Json, setting: Setting, bytes_max: int) -> bytes:
    """The answer to a request, as JSON. It never raises."""
    setting.restore(request["folder"], request["facts"])
    is_spent = False
    try:
        value = run(request)
        setting.mend()
        told = b'{"data":' + encoded(value, bytes_max)
    except MemoryError:
        told, is_spent = NO_MEMORY, True
    except BaseException as error:  # noqa: BLE001 — whatever authors raise is their answer
        setting.mend()
        told = _told(error, request, setting)
    if os.getpid() != setting.pid:
        os._exit(0)  # a copy of this process that the code forked and forgot: it has no say here
    setting.flush()
    setting.settle()
    is_spent = is_spent or setting.is_spent()
    return told + (b',"is_spent":true}' if is_spent else b"}")


def run(request: Json) -> object:
    """The code with its input as variables; the answer is its `result`, or what its `main` returns."""
    given = request["input"]
    module = types.ModuleType(NAME)
    names = module.__dict__
    names["__file__"] = request["file"]
    names.update(given)
    sys.modules[NAME] = module
    code = _compiled(request["code"], request["file"], request["line"])
    try:
        exec(code, names)
        main = names.get("main")
        if callable(main) and not _has_result(names, given, code):
            return _awaited(call(main, given))
    except SystemExit as leaving:  # with 0 the work is done, and `result` is what it was by then
        if leaving.code not in (None, 0):
            raise
    return _awaited(names["result"]) if _has_result(names, given, code) else None


def _has_result(names: dict[str, object], given: dict[str, object], code: types.CodeType) -> bool:
    """Whether the code has set `result`, which may be the name of an input too, and be set to what it was."""
    if "result" not in given or "result" not in names:
        return "result" in names
    return names["result"] is not given["result"] or _sets_result(code, ("STORE_NAME", "STORE_GLOBAL"))


def _sets_result(code: types.CodeType, ways: tuple[str, ...]) -> bool:
    import dis  # noqa: PLC0415 — it takes long, and few need it

    inner = (each for each in code.co_consts if isinstance(each, types.CodeType))
    return any(each.opname in ways and each.argval == "result" for each in dis.get_instructions(code)) or any(
        _sets_result(each, ("STORE_GLOBAL",)) for each in inner
    )


def _compiled(code: str, file: str, line: int) -> types.CodeType:
    """The code at the lines at which it stands in its file."""
    key = (code, file, line)
    found = _codes.get(key)
    if found is None:
        if len(_codes) >= CODES_MAX:
            _codes.clear()
            _takers.clear()
        found = _codes[key] = compile("\n" * (line - 1) + code, file, "exec", dont_inherit=True)
    return found


def _awaited(value: object) -> object:
    if not hasattr(value, "__await__"):
        return value
    import asyncio  # noqa: PLC0415 — it takes long, and few need it

    async def whole() -> object:
        return await value

    return asyncio.run(whole())


class Taker:
    """What a `main` takes: names that go `first`, by position, and others."""

    def __init__(self, first: Sequence[str], others: Sequence[str], needed: Sequence[str], takes_all: bool) -> None:
        self.first = tuple(first)
        self.others = frozenset(others)
        self.needed = tuple(needed)
        self.takes_all = takes_all


def call(main: Callable[..., object], given: dict[str, object]) -> object:
    """Calls `main` with what it takes of the input, by name."""
    taker = _taker(main)
    missing = [name for name in taker.needed if name not in given]
    if missing:
        has = ", ".join(f"`{name}`" for name in given) or "nothing"
        message = f"`main` needs `{missing[0]}`, and the input has {has}; add `{missing[0]}` to `input`"
        raise Refused("input", message)
    first = [given[name] for name in taker.first if name in given]
    if taker.takes_all:
        return main(*first, **{name: value for name, value in given.items() if name not in taker.first})
    return main(*first, **{name: value for name, value in given.items() if name in taker.others})


def _taker(main: Callable[..., object]) -> Taker:
    if type(main) is not types.FunctionType or main.__dict__:  # a decorated one only looks like its wrapper
        return _any_taker(main)
    found = _takers.get(main.__code__)
    if found is None:
        found = _takers[main.__code__] = _plain_taker(main)
    return found


def _plain_taker(main: types.FunctionType) -> Taker:
    code = main.__code__
    count, first = code.co_argcount, code.co_posonlyargcount
    names, keywords = code.co_varnames[:count], code.co_varnames[count : count + code.co_kwonlyargcount]
    needed = names[: count - len(main.__defaults__ or ())]
    needed += tuple(name for name in keywords if name not in (main.__kwdefaults__ or {}))
    return Taker(names[:first], names[first:] + keywords, needed, bool(code.co_flags & TAKES_ALL))


def _any_taker(main: Callable[..., object]) -> Taker:
    import inspect  # noqa: PLC0415 — it takes long, and few need it

    kinds = inspect.Parameter
    found = inspect.signature(main).parameters.values()
    named = [each for each in found if each.kind not in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD)]
    return Taker(
        [each.name for each in named if each.kind is kinds.POSITIONAL_ONLY],
        [each.name for each in named if each.kind is not kinds.POSITIONAL_ONLY],
        [each.name for each in named if each.default is kinds.empty],
        any(each.kind is kinds.VAR_KEYWORD for each in found),
    )


# ------------------------------------------------------------------------------ what went wrong


def _told(error: BaseException, request: Json, setting: Setting) -> bytes:
    try:
        return _as_answer(_trouble(error, request))
    except Exception:  # noqa: BLE001 — the code holds what it takes to say so, such as the last descriptors
        setting.clear()
        _let_go(error)
        return _as_answer(_trouble(error, request))


def _as_answer(trouble: dict[str, object]) -> bytes:
    return encode({"error": trouble}).encode("utf-8", "backslashreplace")[:-1]


def _let_go(error: BaseException) -> None:
    """Ends the variables of all functions that the error came through."""
    trace = error.__traceback__
    while trace is not None:
        with suppress(RuntimeError):  # one that still runs
            trace.tb_frame.clear()
        trace = trace.tb_next


def _trouble(error: BaseException, request: Json) -> dict[str, object]:
    if isinstance(error, SystemExit):
        return {
            "kind": "crash",
            "message": f"the code left by sys.exit({error.code!r}); `raise` an exception to say what went wrong",
        }
    if isinstance(error, Refused):
        return {"kind": error.args[0], "message": error.args[1]}
    file = request["file"]
    shown = _shown(error, request)
    lines = [frame.lineno for frame in shown.stack if frame.filename == file]
    if isinstance(error, SyntaxError) and error.filename == file:
        lines.append(error.lineno)
    name = "TypeError" if isinstance(error, Unfit) else type(error).__name__
    text = _text(error)
    return {
        "kind": "exception",
        "message": f"{name}: {text}" if text else name,
        "exception_type": name,
        "traceback": None if isinstance(error, Unfit) else _end("".join(shown.format())),
        "line": lines[-1] if lines else None,
    }


def _shown(error: BaseException, request: Json) -> traceback.TracebackException:
    """The traceback from the author's first line on, with the author's text beside it."""
    import linecache  # noqa: PLC0415
    import traceback  # noqa: PLC0415

    file, line, code = request["file"], request["line"], request["code"]
    lines = [""] * (line - 1) + [each + "\n" for each in code.splitlines()]
    linecache.cache[file] = (len(code), None, lines, file)
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != file:
        trace = trace.tb_next
    return traceback.TracebackException(type(error), error, trace)


def _end(traceback: str) -> str:
    """Its last lines, each of them whole: a part of a secret could not be told from ordinary text."""
    if len(traceback) <= TRACEBACK_CHARS_MAX:
        return traceback
    return traceback[-TRACEBACK_CHARS_MAX:].partition("\n")[2]


def _text(error: BaseException) -> str:
    try:
        text = error.msg if isinstance(error, SyntaxError) else str(error)
    except Exception:  # noqa: BLE001 — an author's __str__
        return "an exception without a text"
    return text if len(text) <= TEXT_CHARS_MAX else text[:TEXT_CHARS_MAX] + "…"


# ------------------------------------------------------------------------------ the channel


def _receive(requests: int) -> bytes | None:
    data = bytearray()
    while len(data) < 4 or len(data) < 4 + int.from_bytes(data[:4], "big"):
        piece = os.read(requests, READ_BYTES)
        if not piece:
            return None
        data += piece
    return bytes(data[4:])


def _send(answers: int, data: bytes) -> None:
    rest = memoryview(len(data).to_bytes(4, "big") + data)
    try:
        while rest:
            rest = rest[os.write(answers, rest) :]
    except OSError:
        os._exit(MUTE_CODE)


if __name__ == "__main__":
    main()
