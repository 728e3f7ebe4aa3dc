"""Calls of tools as a worker makes them, and whether the processes they started are gone."""

import os
import time
from collections.abc import Mapping
from pathlib import Path

from noetl.ports import ToolCall

PATIENCE_S = 20.0


def call_of(
    kind: str,
    fields: Mapping[str, object],
    received: Mapping[str, object] | None = None,
    *,
    playbook: str = "tests/tools",
    file: str = "",
    text_line: int = 0,
    attempt: int = 1,
    **spec: object,
) -> ToolCall:
    return ToolCall(
        kind, fields, received or {}, spec, "execution-1", "step-1", "task-1", "run-1", attempt, "key-1", playbook,
        file=file, text_line=text_line,
    )  # fmt: skip


def are_soon_gone(*pids: int) -> bool:
    """Whether processes that were killed end: the system does that in its own time."""
    until = time.monotonic() + PATIENCE_S
    while any(map(is_running, pids)) and time.monotonic() < until:
        os.sched_yield()
    return not any(map(is_running, pids))


def is_running(pid: int) -> bool:
    """Whether there is such a process, and not only its remains."""
    try:
        os.kill(pid, 0)
        stat = Path(f"/proc/{pid}/stat").read_text()
    except ProcessLookupError:
        return False
    except FileNotFoundError:  # gone in between, or a system without such files
        return not Path("/proc/self/stat").exists()
    return stat.rpartition(")")[2].split()[0] != "Z"
