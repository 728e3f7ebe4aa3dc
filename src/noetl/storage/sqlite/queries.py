"""The named queries of `queries.sql`, read once. Some take several rows at a time."""

from functools import cache
from pathlib import Path

_FILE = Path(__file__).with_name("queries.sql")
_NAME = "-- name: "
_ROWS = "/*rows*/"


@cache
def query(name: str, rows: int = 1) -> str:
    """The text of a query, with its row of values repeated so many times."""
    text = _texts()[name]
    if _ROWS not in text:
        return text
    before, row, after = text.split(_ROWS)
    return f"{before}{','.join([row] * rows)}{after}"


@cache
def _texts() -> dict[str, str]:
    parts = _FILE.read_text("utf-8").split(_NAME)[1:]
    named = (part.partition("\n") for part in parts)
    return {name: text.strip() for name, _, text in named}
