"""What tools print: kept in bounded chunks beside the log, never in it."""

from noetl.engine.secrets import MASK, Redactor, hideable
from noetl.ports import Clock, LogChunk

RUN_CHARS_MAX = 1024 * 1024
"""What is kept of one task run; then one line says that there was more."""

CHUNK_CHARS_MAX = 16 * 1024
WAITING_MAX = 2_000
"""Chunks that may wait to be kept."""


class Printed:
    """The chunks of a worker that nobody keeps yet."""

    def __init__(self) -> None:
        self._chunks: list[LogChunk] = []

    def add(self, chunk: LogChunk) -> None:
        if len(self._chunks) < WAITING_MAX:
            self._chunks.append(chunk)

    def take(self) -> list[LogChunk]:
        taken, self._chunks = self._chunks, []
        return taken


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
