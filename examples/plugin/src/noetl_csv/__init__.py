"""The kind `csv`: the rows of a file, as a list of mappings."""

import asyncio
import csv
from itertools import islice
from pathlib import Path

from noetl.engine.output import Output, failed
from noetl.playbook.kinds import Kind
from noetl.playbook.shape import Field, Number, Text
from noetl.ports import Console, Tool, ToolCall
from noetl.tools.plugin import Parts, Plugin

ROWS_MAX = 100_000

KIND = Kind(
    "csv",
    "The rows of a CSV file.",
    fields={
        "path": Field("path", Text(is_template=True), "The file.", required=True),
        "delimiter": Field("delimiter", Text(), "What parts the columns; a comma when left out."),
    },
    knobs={"rows_max": Field("rows_max", Number(integer=True, minimum=1), "The most rows to read.")},
    blocks={"csv": ("rows",)},
)


class Csv:
    """Never raises: what goes wrong is an output, and the block `csv` is always there."""

    async def run(self, call: ToolCall, console: Console) -> Output:
        path, delimiter = call.fields.get("path"), call.fields.get("delimiter", ",")
        if not isinstance(path, str) or not isinstance(delimiter, str) or len(delimiter) != 1:
            return _with_rows(failed("input", "`path` must be text, and `delimiter` one character"), None)
        limit = call.spec.get("rows_max")
        try:
            rows = await asyncio.to_thread(_read, path, delimiter, limit if isinstance(limit, int) else ROWS_MAX)
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            return _with_rows(failed("input", f"{path} cannot be read: {error}"), None)
        console.write(f"{len(rows)} rows of {path}\n")
        return _with_rows(Output(data=rows), len(rows))

    async def close(self) -> None:
        """Nothing is kept between runs."""


def _read(path: str, delimiter: str, rows_max: int) -> list[dict[str, str]]:
    """The rows. A file may begin with a byte order mark, as spreadsheets write it."""
    with Path(path).open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file, delimiter=delimiter, restkey="")
        rows = []
        for row in islice(reader, rows_max):
            if isinstance(row.get(""), list):
                raise csv.Error(f"line {reader.line_num} has more columns than the first line names")
            rows.append(dict(row))
        return rows


def _with_rows(output: Output, rows: int | None) -> Output:
    return Output(output.status, output.data, error=output.error, blocks={"csv": {"rows": rows}})


def make(parts: Parts) -> Tool:  # noqa: ARG001 — this tool needs neither the result store nor the log
    return Csv()


PLUGIN = Plugin(KIND, make)
