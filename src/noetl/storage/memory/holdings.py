"""Which stored objects the log refers to, and how far the search for the others has come."""

from collections.abc import Callable, Collection, Sequence

from noetl.engine.holds import Hold
from noetl.storage.rounds import Round, following


class Holdings:
    def __init__(self) -> None:
        self._until: dict[str, dict[str, float | None]] = {}
        """By object and execution."""

        self._round: Round | None = None

    def add(self, execution_id: str, holds: Sequence[Hold]) -> None:
        for hold in holds:
            known = self._until.setdefault(hold.sha256, {})
            before = known.get(execution_id, hold.until)
            known[execution_id] = None if before is None or hold.until is None else max(before, hold.until)

    def held(self, prefix: str, now: float, holds_all: Callable[[str], bool]) -> Collection[str]:
        return frozenset(
            sha256
            for sha256, known in self._until.items()
            if sha256.startswith(prefix)
            and any(until is None or until > now or holds_all(name) for name, until in known.items())
        )

    def next_part(self, parts: int, every_s: float, now: float) -> int | None:
        part, self._round = following(self._round, parts, every_s, now)
        return part
