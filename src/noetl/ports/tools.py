"""What a kind of task is asked to do, and where it prints."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Protocol

import msgspec

from noetl.engine.events import Values
from noetl.engine.output import Output

KEY_CHARS_MAX = 255
"""How long an idempotency key may be so that servers take it."""


class ToolCall(msgspec.Struct, frozen=True):
    """One run of a task: everything bound, nothing to evaluate. `key` is equal for retries and crash re-runs.

    `credential` is what the entry that `auth` names holds. `path` is where the task stands in the playbook, and
    `place` where in the author's file, as `file:line:column`. `secrets` are texts never to be kept: what a tool answers
    and prints is masked for it, but not what it stores itself. `file` is the author's file, and `text_line` the line
    there at which the task's own code or script begins, 0 where that is not known.
    """

    kind: str
    fields: Values
    input: Values
    spec: Mapping[str, object]
    execution_id: str
    step: str
    task: str
    task_run_id: str
    attempt: int
    key: str
    playbook: str = ""
    path: str = ""
    place: str = ""
    auth: str | None = None
    credential: object = None
    secrets: frozenset[str] = frozenset()
    file: str = ""
    text_line: int = 0

    @property
    def idempotency_key(self) -> str:
        """What others know this task by when it runs again: `key`, of this execution, as a header can carry it."""
        key = f"{self.execution_id}.{self.key}"
        return key if len(key) <= KEY_CHARS_MAX and key.isascii() else sha256(key.encode()).hexdigest()


class Console(Protocol):
    """Where what a tool prints goes: bounded, and outside the event log."""

    def write(self, text: str, *, stream: str = "stdout") -> None: ...


class Tool(Protocol):
    """A kind of task. It answers with an output whatever happens; a cancelled one leaves nothing running behind."""

    async def run(self, call: ToolCall, console: Console) -> Output: ...

    async def close(self) -> None:
        """Ends what the tool keeps between runs: connections, child processes."""
