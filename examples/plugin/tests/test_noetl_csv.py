"""The contract that every tool keeps, and what is special about this one."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest
from noetl_csv import KIND, Csv

from noetl.ports import ToolCall
from noetl.tools.contract import CHECKS, Check, Heard, Subject, name_of


def call_of(fields: Mapping[str, object], **spec: object) -> ToolCall:
    return ToolCall("csv", fields, {}, spec, "execution", "step", "task", "run", 1, "key")


def rows_in(folder: Path) -> str:
    file = folder / "rows.csv"
    file.write_text("name;n\nann;1\nbob;2\n", encoding="utf-8")
    return str(file)


@pytest.mark.parametrize("check", CHECKS, ids=name_of)
def test_the_tool_keeps_the_contract(check: Check, tmp_path: Path) -> None:
    works = call_of({"path": rows_in(tmp_path)})
    breaks = (call_of({}), call_of({"path": str(tmp_path / "gone.csv")}))
    asyncio.run(check(Subject(KIND, Csv, works, breaks, block="csv")))
    assert check in CHECKS


def test_rows_are_mappings_by_the_names_of_the_first_line(tmp_path: Path) -> None:
    call, heard = call_of({"path": rows_in(tmp_path), "delimiter": ";"}, rows_max=1), Heard()
    output = asyncio.run(Csv().run(call, heard))
    assert output.data == [{"name": "ann", "n": "1"}]
    assert output.blocks == {"csv": {"rows": 1}}
    assert heard.texts["stdout"].startswith("1 rows of ")


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path: Path) -> None:
    file = tmp_path / "sheet.csv"
    file.write_text("name,n\nann,1\n", encoding="utf-8-sig")
    output = asyncio.run(Csv().run(call_of({"path": str(file)}), Heard()))
    assert output.data == [{"name": "ann", "n": "1"}]


def test_a_row_with_more_columns_than_names_is_told_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("name,n\nann,1\nbob,2,3\n", encoding="utf-8")
    output = asyncio.run(Csv().run(call_of({"path": str(file)}), Heard()))
    assert output.error is not None
    assert output.error.kind == "input"
    assert output.error.message.endswith("cannot be read: line 3 has more columns than the first line names")
    assert output.blocks == {"csv": {"rows": None}}


def test_what_a_short_row_lacks_is_null(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("name,n\nann\n", encoding="utf-8")
    output = asyncio.run(Csv().run(call_of({"path": str(file)}), Heard()))
    assert output.data == [{"name": "ann", "n": None}]
