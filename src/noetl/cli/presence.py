"""Which process works on which execution: also while an execution waits and nobody holds a lease of it."""

import hashlib
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

DEAD = ("Z", "X")
"""States of processes that do nothing any more."""

FOLDER = "live"


@contextmanager
def present(home: Path, execution_id: str) -> Iterator[None]:
    """As long as it lasts, other processes see that this one works on the execution. A kill is seen too.

    It is for people to see: where there is no space for it, the work goes on without.
    """
    name = hashlib.sha256(execution_id.encode()).hexdigest()
    file = home / FOLDER / f"{os.getpid()}-{name}"
    with suppress(OSError):
        file.parent.mkdir(mode=0o700, exist_ok=True)
        file.write_text(f"{worker_name()}\n{execution_id}", encoding="utf-8")
    try:
        yield
    finally:
        with suppress(OSError):
            file.unlink(missing_ok=True)


def worked_on(home: Path) -> frozenset[str]:
    """The executions on which living processes of this machine work. What killed ones left behind is removed."""
    found = set()
    for file in (home / FOLDER).glob("*-*"):
        worker, _, execution_id = _text(file).partition("\n")
        if execution_id and not is_gone(worker):
            found.add(execution_id)
        elif execution_id:
            with suppress(OSError):
                file.unlink(missing_ok=True)
    return frozenset(found)


def worker_name() -> str:
    """Tells which process of which machine it is, and which of several that had the number."""
    return f"{socket.gethostname()}:{os.getpid()}:{_born_at(os.getpid())}"


def is_gone(worker: str) -> bool:
    """Whether a worker of this machine has ended. One of another machine may be alive."""
    host, _, rest = worker.partition(":")
    pid, _, born_at = rest.partition(":")
    return host == socket.gethostname() and pid.isdigit() and _born_at(int(pid)) != born_at


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
