"""Child processes: a session of their own, a clean environment, no descriptors of ours, and no life after ours.

What a child prints is read as it comes. When the child ends, whatever it left running ends too: its group, and what has
left the group but carries the mark of the child in its environment. One that is told to stop may clean up first, and so
may all that it started.
"""

import asyncio
import fcntl
import os
import select
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import IO

import msgspec

from noetl.ports import ToolCall

INHERITED = ("PATH", "HOME", "LANG", "TMPDIR")
"""All that a child knows of our environment. The rest may hold secrets."""

MEMORY_BYTES_MAX = 4 * 1024**3
OPEN_FILES_MAX = 1024

READ_BYTES = 64 * 1024
READS_MAX = 32
"""Pieces read at the end of a run: more than a pipe can hold."""

REAP_S_MAX = 5.0
"""How long a killed child is waited for."""

GRACE_S = 2.0
"""Between SIGTERM and SIGKILL. A worker must be done with what it stops before its lease is another's."""

MARK = "NOETL_PROCESS"
"""By this variable what a child started is known. Who wants something to outlive its task starts it without."""

SWEEPS_MAX = 20
"""How often what carries a mark is looked for, as long as there is more of it each time."""

Sink = Callable[[bytes, str], None]
"""Takes what a child printed, and on which stream."""


class Command(msgspec.Struct, frozen=True):
    """`descriptors` are those of ours that the child gets."""

    argv: Sequence[str]
    environment: Mapping[str, str]
    cwd: str | None = None
    descriptors: Sequence[int] = ()
    stdin: IO[bytes] | None = None


class Process:
    """A running child. `ended` becomes its exit code, below 0 the signal that killed it, once nothing is left of it."""

    def __init__(self, command: Command, sink: Sink) -> None:
        self._loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[int] = self._loop.create_future()
        self._sink = sink
        self._outlets: dict[int, str] = {}
        self._poll = select.poll()
        self._lifeline = list(os.pipe())
        self._mark = f"{os.getpid()}-{os.fstat(self._lifeline[0]).st_ino}"
        self._pidfd = -1
        self._patience: asyncio.TimerHandle | None = None
        self._is_killed = False
        self._is_headless = False
        try:
            self._popen = self._started(command)
        except (OSError, ValueError):
            self._release()
            raise
        _bind_life(self._lifeline[0], self._popen.pid)
        for outlet in self._outlets:
            os.set_blocking(outlet, False)
            self._loop.add_reader(outlet, self._read, outlet)
        self._watch()

    def terminate(self) -> None:
        """Asks the child and its group to end. What still runs after `GRACE_S` is killed."""
        if not self.ended.done() and self._patience is None:
            self._patience = self._loop.call_later(GRACE_S, self.kill)
            self._signal(signal.SIGTERM)
            _signal_marked(self._mark, self._popen.pid, signal.SIGTERM)

    def kill(self) -> None:
        """Ends the child and its group at once."""
        if not self.ended.done():
            self._is_killed = True
            self._signal(signal.SIGKILL)
            if self._is_headless:
                self._finish()

    async def stop(self) -> None:
        """Asks the child to end, and waits until nothing is left of it. Whoever is cancelled meanwhile kills it."""
        self.terminate()
        try:
            await asyncio.wait([self.ended], timeout=GRACE_S)
        finally:
            await self.end()

    async def end(self) -> None:
        """Kills the child, and waits until nothing is left of it."""
        self.kill()
        await asyncio.wait([self.ended], timeout=REAP_S_MAX)

    async def code(self) -> int:
        """Waits for the end. Whoever is cancelled meanwhile leaves the child running."""
        await asyncio.wait([self.ended])
        return self.ended.result()

    def drain(self) -> None:
        """Reads what was printed up to now."""
        for _ in range(READS_MAX):
            ready = self._poll.poll(0)
            if not [outlet for outlet, _event in ready if self._read(outlet)]:
                return

    def _started(self, command: Command) -> subprocess.Popen[bytes]:
        inner = []
        try:
            for stream in ("stdout", "stderr"):
                outlet, inlet = os.pipe()
                self._outlets[outlet] = stream
                self._poll.register(outlet, select.POLLIN)
                inner.append(inlet)
            return subprocess.Popen(
                command.argv,
                stdin=subprocess.DEVNULL if command.stdin is None else command.stdin,
                stdout=inner[0],
                stderr=inner[1],
                cwd=command.cwd,
                env={**command.environment, MARK: self._mark},
                pass_fds=(*command.descriptors, self._lifeline[0]),
                start_new_session=True,
            )
        finally:
            for inlet in inner:
                os.close(inlet)

    def _read(self, outlet: int) -> bool:
        """One piece of what was printed, if there is one."""
        if outlet not in self._outlets:
            return False
        try:
            data = os.read(outlet, READ_BYTES)
        except BlockingIOError:
            return False
        if data:
            self._sink(data, self._outlets[outlet])
        else:
            self._close(outlet)
        return bool(data)

    def _close(self, outlet: int) -> None:
        """Nobody prints there any more. Where the child has ended, that was the last of its group that we know of."""
        self._loop.remove_reader(outlet)
        self._poll.unregister(outlet)
        os.close(outlet)
        del self._outlets[outlet]
        if self._is_headless and not self._outlets:
            self._finish()

    def _watch(self) -> None:
        try:
            self._pidfd = os.pidfd_open(self._popen.pid)
        except (AttributeError, OSError):  # an older kernel, or none of Linux
            threading.Thread(target=self._wait_aside, daemon=True).start()
        else:
            self._loop.add_reader(self._pidfd, self._end)

    def _wait_aside(self) -> None:
        self._popen.wait()
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._finish)

    def _end(self) -> None:
        """The child has ended. If it was asked to, all of its group that may print have the rest of the grace."""
        self._loop.remove_reader(self._pidfd)
        if self._patience is None or self._is_killed or not self._outlets:
            self._finish()
        else:
            self._is_headless = True

    def _finish(self) -> None:
        """Ends what is left of the group, while its number cannot be another's yet: only then its child is buried."""
        self._is_headless = False
        self._signal(signal.SIGKILL)
        code = self._popen.wait()
        self.drain()
        if self._is_killed or self._patience is not None or self._is_held():
            _signal_marked(self._mark, self._popen.pid, signal.SIGKILL)
        self._release()
        if not self.ended.done():
            self.ended.set_result(code)

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._popen.pid, number)

    def _is_held(self) -> bool:
        """Whether anyone still has what the child was given to print to, or its end of the lifeline."""
        self._untie()
        poll = select.poll()
        poll.register(self._lifeline[0], 0)
        return bool(self._outlets) or not poll.poll(0)

    def _untie(self) -> None:
        """Lets go of the group, whose number may be another's from now on."""
        if len(self._lifeline) > 1:
            end = self._lifeline.pop(0)
            with suppress(OSError):
                fcntl.fcntl(end, fcntl.F_SETOWN, 0)
            os.close(end)

    def _release(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
        for outlet in list(self._outlets):
            self._close(outlet)
        if self._pidfd >= 0:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
        self._untie()
        os.close(self._lifeline.pop())


def _signal_marked(mark: str, group: int, number: signal.Signals) -> None:
    """Signals all that carries a mark and is not of the group, where the system lets us look.

    What forks meanwhile is found the next time.
    """
    entry = f"\0{MARK}={mark}\0".encode()
    known: set[int] = set()
    for _ in range(SWEEPS_MAX):
        found = {pid for pid in _pids() - known if _is_signalled(pid, entry, group, number)}
        if not found:
            return
        known |= found


def _pids() -> set[int]:
    with suppress(FileNotFoundError):  # a system without such files
        return {int(name) for name in os.listdir("/proc") if name.isdecimal()} if hasattr(os, "pidfd_open") else set()
    return set()


def _is_signalled(pid: int, entry: bytes, group: int, number: signal.Signals) -> bool:
    """Looks twice: what the second look finds is what the descriptor stands for, whoever has the number later."""
    with suppress(OSError):  # it is gone, or another user's
        if not _is_marked(pid, entry) or os.getpgid(pid) == group:
            return False
        pidfd = os.pidfd_open(pid)
        try:
            if _is_marked(pid, entry):
                signal.pidfd_send_signal(pidfd, number)
                return True
        finally:
            os.close(pidfd)
    return False


def _is_marked(pid: int, entry: bytes) -> bool:
    with open(f"/proc/{pid}/environ", "rb", buffering=0) as file:
        return entry in b"\0" + file.read()


def _bind_life(lifeline: int, pid: int) -> None:
    """Lets the kernel kill the child's group when our end of the pipe closes, however we end."""
    if hasattr(fcntl, "F_SETSIG"):
        fcntl.fcntl(lifeline, fcntl.F_SETOWN, -pid)
        fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(lifeline, fcntl.F_SETFL, os.O_ASYNC)


def clean_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """What a child may know of ours."""
    return {"PATH": os.defpath} | {name: environment[name] for name in INHERITED if name in environment}


def task_facts(call: ToolCall) -> dict[str, str]:
    """What a child is told of the task that it runs for."""
    return {
        "NOETL_EXECUTION_ID": call.execution_id,
        "NOETL_PLAYBOOK": call.playbook,
        "NOETL_STEP": call.step,
        "NOETL_TASK": call.task,
        "NOETL_TASK_RUN_ID": call.task_run_id,
        "NOETL_ATTEMPT": str(call.attempt),
        "NOETL_IDEMPOTENCY_KEY": call.idempotency_key,
    }


def death(code: int) -> str:
    """How a child ended, for people."""
    if code >= 0:
        return f"the process ended by itself with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    reason = "; the system kills so when memory is short" if -code == signal.SIGKILL else ""
    return f"the process was killed by {name}{reason}"


def bound_of(spec: Mapping[str, object], name: str, default: int) -> int:
    found = spec.get(name)
    return found if isinstance(found, int) else default
