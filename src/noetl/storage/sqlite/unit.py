"""All that a transaction has read and will write. It may outlive its transaction, as long as nobody else writes.

So an execution that goes on is read once. Writes are gathered and go out in few statements, before searches and at
the end.
"""

from collections.abc import Collection, Sequence

from noetl.engine.holds import Hold
from noetl.ports import Summary
from noetl.storage.sqlite.agenda import Agenda
from noetl.storage.sqlite.counters import Counters
from noetl.storage.sqlite.records import HeadRow, NameRow, encode_record
from noetl.storage.sqlite.session import Session, Value, as_list
from noetl.storage.sqlite.workrows import WorkRows

EXECUTIONS_MAX = 2_000
"""Executions that are kept at hand from one transaction to the next."""


class Unit:
    def __init__(self, session: Session) -> None:
        self.session = session
        self.counters = Counters(session)
        self.work = WorkRows(session, self.counters)
        self.agenda = Agenda(session, self.counters)
        self._heads: dict[str, int] = {}
        self._parked: set[str] = set()
        self._events: list[tuple[Value, ...]] = []
        self._holds: list[tuple[Value, ...]] = []
        self._moved: dict[str, Summary | None] = {}

    def load(self, names: Collection[str]) -> None:
        self.counters.load()
        new = [name for name in dict.fromkeys(names) if name not in self._heads]
        if not new:
            return
        self._heads.update((name, 0) for name in new)
        listed = as_list(new)
        self._heads.update((each.execution_id, each.head) for each in self.session.all("load_heads", HeadRow, listed))
        self._parked.update(each.execution_id for each in self.session.all("load_parked", NameRow, listed))
        self.work.load(new)
        self.agenda.load(new)

    def head(self, name: str) -> int:
        return self._heads[name]

    def is_parked(self, name: str) -> bool:
        return name in self._parked

    def set_parked(self, name: str, *, is_parked: bool) -> None:
        (self._parked.add if is_parked else self._parked.discard)(name)

    def append(self, name: str, events: Sequence[bytes], summary: Summary | None) -> None:
        head = self._heads[name]
        self._events += [(name, seq, data) for seq, data in enumerate(events, head + 1)]
        self._heads[name] = head + len(events)
        if events or summary is not None:
            self._moved[name] = summary or self._moved.get(name)

    def hold(self, name: str, holds: Sequence[Hold]) -> None:
        self._holds += [(hold.sha256, name, hold.until) for hold in holds]

    def flush(self) -> None:
        self.session.write("insert_events", self._events)
        self.session.write("save_holds", self._holds)
        told = [(name, summary) for name, summary in self._moved.items() if summary is not None]
        self.session.write("save_summaries", [self._values(name, summary) for name, summary in told])
        heads = [(name, self._heads[name]) for name, summary in self._moved.items() if summary is None]
        self.session.write("save_heads", heads)
        self.work.flush()
        self.agenda.flush()
        self.counters.flush()
        self._events.clear()
        self._holds.clear()
        self._moved.clear()

    def end(self, *, is_kept: bool) -> None:
        """After the transaction: what was read still holds if it was committed."""
        self.agenda.end()
        if not is_kept or len(self._heads) > EXECUTIONS_MAX:
            self.forget()

    def forget(self) -> None:
        self._events.clear()
        self._holds.clear()
        self._moved.clear()
        self._heads.clear()
        self._parked.clear()
        self.work.forget()
        self.agenda.forget()
        self.counters.forget()

    def _values(self, name: str, summary: Summary) -> tuple[Value, ...]:
        parent = summary.parent
        return (
            name,
            self._heads[name],
            summary.path,
            summary.digest,
            summary.status,
            summary.started_at,
            summary.changed_at,
            summary.head,
            parent.execution_id if parent is not None else None,
            encode_record(parent) if parent is not None else None,
            int(not summary.has_ended),
        )
