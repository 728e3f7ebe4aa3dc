"""What is only looked at. A job reads at one moment, whatever is written meanwhile."""

from collections.abc import Sequence

from noetl.engine.incidents import Incident, Rows
from noetl.ports import Clock, LogChunk, Message, Summary, Timer
from noetl.storage.sqlite.records import (
    DataRow,
    IncidentRow,
    LogRow,
    MessageRow,
    NameRow,
    NumberRow,
    SnapshotRow,
    SummaryRow,
    TimerRow,
    WorkRow,
)
from noetl.storage.sqlite.session import Session, as_list


def head(session: Session, execution_id: str) -> int:
    found = session.first("head", NumberRow, execution_id)
    return found.number if found is not None else 0


def events(session: Session, execution_id: str, after: int, limit: int) -> Sequence[bytes]:
    return tuple(each.data for each in session.all("read", DataRow, execution_id, after, limit))


def snapshot(session: Session, execution_id: str) -> tuple[int, bytes] | None:
    found = session.first("snapshot", SnapshotRow, execution_id)
    return (found.seq, found.data) if found is not None else None


def due(session: Session, limit: int, clock: Clock) -> tuple[Sequence[Timer], float | None]:
    now = clock.now()
    found = session.all("first_timers", TimerRow, limit + 1)
    over = [each for each in found[:limit] if each.due_at <= now]
    rest = found[len(over)].due_at - now if len(found) > len(over) else None
    return [each.timer for each in over], rest


def messages(session: Session, after: int, limit: int) -> Sequence[Message]:
    return tuple(each.message for each in session.all("messages", MessageRow, after, limit))


def live(session: Session, after: str, limit: int) -> Sequence[Summary]:
    return tuple(each.summary for each in session.all("live", SummaryRow, after, limit))


def recent(session: Session, before: str, limit: int) -> Sequence[Summary]:
    return tuple(each.summary for each in session.all("recent", SummaryRow, before, limit))


def below(session: Session, execution_id: str, after: str, limit: int) -> Sequence[Summary]:
    first = max(after, f"{execution_id}.")
    return tuple(each.summary for each in session.all("below", SummaryRow, first, f"{execution_id}/", limit))


def summary(session: Session, execution_id: str) -> Summary | None:
    found = session.first("summary", SummaryRow, execution_id)
    return found.summary if found is not None else None


def rows(session: Session, execution_id: str) -> tuple[int, Rows]:
    work = {each.key[1]: each.work for each in session.all("load_work", WorkRow, as_list([execution_id]))}
    timers = [each.timer.timer for each in session.all("timers_of", TimerRow, execution_id)]
    children = {each.execution_id for each in session.all("live_children", NameRow, execution_id)}
    children |= {each.execution_id for each in session.all("correspondents", NameRow, execution_id)}
    return head(session, execution_id), Rows(work, timers, children)


def parking(session: Session, execution_id: str) -> Incident | None:
    found = session.first("parking", IncidentRow, execution_id)
    return found.incident if found is not None else None


def incidents(session: Session, execution_id: str, limit: int) -> Sequence[Incident]:
    return tuple(each.incident for each in session.all("incidents", IncidentRow, execution_id, limit))


def incidents_within(session: Session, root: str, limit: int) -> Sequence[Incident]:
    return tuple(each.incident for each in session.all("incidents_within", IncidentRow, root, limit))


def logs(session: Session, execution_id: str, after: int, limit: int) -> Sequence[LogChunk]:
    return tuple(each.chunk for each in session.all("logs", LogRow, execution_id, after, limit))
