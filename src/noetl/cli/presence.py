"""Which process works on which execution: also while an execution waits and nobody holds a lease of it.

A process that is there holds the lock of a file, which ends with it, however it ends. That is seen by every process
that shares the files: numbers of processes mean nothing in another container, whatever name the machine has there.
"""

import fcntl
import hashlib
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

DEAD = ("Z", "X")
"""States of processes that do nothing any more."""

FOLDER = "live"
NAMESPACE = Path("/proc/self/ns/pid")
UNFINISHED = ".new"
"""How the name of a file ends that nobody holds yet."""


class Present(msgspec.Struct, frozen=True):
    """Who was there at a moment: executions that are worked on, workers that were there, and some that had died."""

    executions: frozenset[str] = frozenset()
    living: frozenset[str] = frozenset()
    dead: frozenset[str] = frozenset()

    def is_gone(self, worker: str) -> bool:
        """Whether a worker has ended. One of another machine or container, of which no file tells, may be alive."""
        return worker not in self.living and (worker in self.dead or _has_ended(worker))


NOBODY = Present()


@contextmanager
def present(home: Path, execution_id: str, worker: str) -> Iterator[None]:
    """As long as it lasts, other processes see that this one works on the execution. A kill is seen too.

    Where there is no space for it, or no lock to be had, the work goes on without.
    """
    _sweep(home)
    file, lock = _file(home, execution_id, worker), -1
    with suppress(OSError):
        file.parent.mkdir(mode=0o700, exist_ok=True)
        lock = _held(file, f"{worker}\n{execution_id}")
    try:
        yield
    finally:
        if lock >= 0:
            with suppress(OSError):
                file.unlink(missing_ok=True)
            os.close(lock)


def who_is_present(home: Path) -> Present:
    """What the locks of this moment tell. What killed processes left behind stays: it tells that they have ended."""
    living, dead, executions = set(), set(), set()
    for file in _files(home):
        worker, _, execution_id = _text(file).partition("\n")
        if execution_id and _is_held(file):
            living.add(worker)
            executions.add(execution_id)
        elif execution_id:
            dead.add(worker)
    return Present(frozenset(executions), frozenset(living), frozenset(dead - living))


def worker_name() -> str:
    """Tells which process of which machine and container it is, and which of several that had the number."""
    return f"{_place()}:{os.getpid()}:{_born_at(os.getpid())}"


def _has_ended(worker: str) -> bool:
    """By its number, which tells only where numbers are given by the same kernel to the same container."""
    place, _, rest = worker.partition(":")
    pid, _, born_at = rest.partition(":")
    return place == _place() and pid.isdigit() and _born_at(int(pid)) != born_at


def _place() -> str:
    """The machine, and within what its processes are numbered."""
    try:
        namespace = NAMESPACE.stat().st_ino
    except OSError:
        return socket.gethostname()
    return f"{socket.gethostname()}/{namespace}"


def _sweep(home: Path) -> None:
    """Removes what killed processes left behind."""
    for file in _files(home):
        if not _is_held(file):
            with suppress(OSError):
                file.unlink(missing_ok=True)


def _files(home: Path) -> Iterator[Path]:
    return (file for file in (home / FOLDER).glob("*-*") if file.suffix != UNFINISHED)


def _file(home: Path, execution_id: str, worker: str) -> Path:
    names = (hashlib.sha256(text.encode()).hexdigest()[:32] for text in (worker, execution_id))
    return home / FOLDER / "-".join(names)


def _held(file: Path, text: str) -> int:
    """The open file whose lock says that we are there. It has its name only when it says so."""
    unfinished = file.with_suffix(UNFINISHED)
    lock = os.open(unfinished, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.write(lock, text.encode())
        unfinished.replace(file)
    except OSError:
        os.close(lock)
        unfinished.unlink(missing_ok=True)
        raise
    return lock


def _is_held(file: Path) -> bool:
    """Whether a living process holds it. Those who ask share the lock, so that they do not see each other."""
    try:
        lock = os.open(file, os.O_RDONLY)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    else:
        return False
    finally:
        os.close(lock)


def _text(file: Path) -> str:
    """Nothing of a file that has gone meanwhile."""
    try:
        return file.read_text(encoding="utf-8")
    except OSError:
        return ""


def _born_at(pid: int) -> str:
    """When a process began, as the kernel counts; empty where there is none, or one that is dead and not yet reaped."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return _is_alive(pid)
    state, *fields = text.rpartition(")")[2].split()
    return fields[18] if state not in DEAD else ""


def _is_alive(pid: int) -> str:
    """Where the kernel does not tell, being alive must do."""
    try:
        os.kill(pid, 0)
    except OSError:
        return ""
    return "alive"
