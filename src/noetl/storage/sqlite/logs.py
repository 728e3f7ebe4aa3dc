"""What tools printed: chunks in order, bounded for each execution."""

from collections.abc import Sequence

from noetl.ports import LogChunk
from noetl.storage.bounds import kept
from noetl.storage.sqlite.records import HeadRow
from noetl.storage.sqlite.session import Value, as_list
from noetl.storage.sqlite.unit import Unit


def write_logs(unit: Unit, chunks: Sequence[LogChunk]) -> None:
    names = list(dict.fromkeys(chunk.execution_id for chunk in chunks))
    found = unit.session.all("log_lengths", HeadRow, as_list(names))
    lengths = {each.execution_id: each.head for each in found}
    rows: list[tuple[Value, ...]] = []
    for chunk in chunks:
        lengths[chunk.execution_id] = at = lengths[chunk.execution_id] + 1
        if (own := kept(chunk, at)) is not None:
            rows.append((own.execution_id, at, own.task_run_id, own.number, own.at, own.stream, own.text))
    unit.session.write("insert_logs", rows)
