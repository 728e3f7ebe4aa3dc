"""The named queries of `queries.sql`, read once. Some take several rows at a time."""

import re
from functools import cache
from importlib.resources import files

_NAME = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
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
    text = (files("noetl.storage.sqlite") / "queries.sql").read_text("utf-8")
    parts = _NAME.split(text)
    return dict(zip(parts[1::2], (part.strip() for part in parts[2::2]), strict=True))
