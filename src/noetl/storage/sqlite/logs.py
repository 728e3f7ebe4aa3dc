"""What tools printed: chunks in order, bounded for each execution."""

from collections.abc import Sequence

from noetl.ports import LogChunk
from noetl.storage.bounds import CHUNKS_MAX
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
        if at <= CHUNKS_MAX:
            name, run = chunk.execution_id, chunk.task_run_id
            rows.append((name, at, run, chunk.number, chunk.at, chunk.stream, chunk.text))
    unit.session.write("insert_logs", rows)
