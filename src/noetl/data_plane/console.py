"""What tools print: kept in bounded chunks beside the log, never in it."""

import msgspec

from noetl.engine.secrets import MASK, Redactor, hideable
from noetl.ports import Clock, LogChunk

RUN_CHARS_MAX = 1024 * 1024
"""What is kept of one task run; then one line says that there was more."""

CHUNK_CHARS_MAX = 16 * 1024
WAITING_CHARS_MAX = 16 * 1024 * 1024
"""Text that may wait to be kept."""

TOO_FAST = "[something is missing here: more was printed than could be kept in time]\n"


class Printed:
    """The chunks of a worker that nobody keeps yet. What one run prints in a row goes together."""

    def __init__(self) -> None:
        self._chunks: list[LogChunk] = []
        self._chars = 0

    def add(self, chunk: LogChunk) -> None:
        if self._chars >= WAITING_CHARS_MAX:
            return
        self._chars += len(chunk.text) + len(TOO_FAST)
        if self._chars >= WAITING_CHARS_MAX:
            chunk = msgspec.structs.replace(chunk, stream="stderr", text=TOO_FAST)
        last = self._chunks[-1] if self._chunks else None
        if last is not None and _are_one(last, chunk):
            self._chunks[-1] = msgspec.structs.replace(last, text=last.text + chunk.text)
        else:
            self._chunks.append(chunk)

    def take(self) -> list[LogChunk]:
        taken, self._chunks, self._chars = self._chunks, [], 0
        return taken


def _are_one(first: LogChunk, second: LogChunk) -> bool:
    is_same = first.task_run_id == second.task_run_id and first.execution_id == second.execution_id
    return is_same and first.stream == second.stream and len(first.text) + len(second.text) <= CHUNK_CHARS_MAX


class TaskConsole:
    """The console of one task run. Secrets are masked here, before anyone can see them, also across two writes."""

    def __init__(
        self, printed: Printed, clock: Clock, execution_id: str, task_run_id: str, secrets: frozenset[str]
    ) -> None:
        self._printed = printed
        self._clock = clock
        self._execution_id = execution_id
        self._task_run_id = task_run_id
        self._hidden = hideable(secrets)
        self._redactors: dict[str, Redactor[str]] = {}
        self._number = 0
        self._left = RUN_CHARS_MAX
        self._is_full = False

    def write(self, text: str, *, stream: str = "stdout") -> None:
        if self._is_full:
            return
        redactor = self._redactors.get(stream)
        if redactor is None:
            redactor = self._redactors[stream] = Redactor(self._hidden, MASK)
        self._keep(redactor.feed(text), stream)

    def end(self) -> None:
        """Keeps what was held back, since it might have become a secret."""
        for stream, redactor in self._redactors.items():
            self._keep(redactor.end(), stream)

    def _keep(self, text: str, stream: str) -> None:
        if self._is_full or not text:
            return
        if len(text) > self._left:
            self._is_full = True
            text = f"{text[: self._left]}\n[the rest is not kept: a task run may print {RUN_CHARS_MAX} characters]\n"
        self._left -= len(text)
        for start in range(0, len(text), CHUNK_CHARS_MAX):
            self._number += 1
            part = text[start : start + CHUNK_CHARS_MAX]
            now = self._clock.now()
            self._printed.add(LogChunk(self._execution_id, self._task_run_id, self._number, now, stream, part))
