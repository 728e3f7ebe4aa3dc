"""Times, items and task runs as people say them, and how wide a text stands on a terminal."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from unicodedata import category, east_asian_width

from noetl.engine.names import task_label
from noetl.engine.output import Output, Status

_LABELS = ("name", "id", "key", "path", "url", "title")
"""What tells a mapping apart from others, the best first."""

SHORT_ID_LETTERS = 13
LETTERS_A_COLUMN_MAX = 4
"""How much of a text is looked at for each place that it may take."""

_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400


def duration(seconds: float) -> str:
    """`2 ms`, `4.1 s`, `3 min 05 s`, `2 h 10 min`, `1 d 4 h`."""
    if seconds < 0.9995:
        return f"{max(0.0, seconds) * 1000:.0f} ms"
    if seconds < _MINUTE:
        return f"{seconds:.1f} s"
    whole = int(seconds)
    if whole < _HOUR:
        return f"{whole // _MINUTE} min {whole % _MINUTE:02} s"
    if whole < _DAY:
        return f"{whole // _HOUR} h {whole % _HOUR // _MINUTE} min"
    return f"{whole // _DAY} d {whole % _DAY // _HOUR} h"


def moment(at: float) -> str:
    """A time as programs read it."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def short_id(execution_id: str) -> str:
    """The beginning of an id, as far as it tells the time: no other run of a project begins with it."""
    return execution_id[:SHORT_ID_LETTERS]


def item_label(collection: object, index: int) -> str:
    """The item of an iteration in short: itself where it is a word or a number, or what names it."""
    if not isinstance(collection, list | tuple) or not 0 <= index < len(collection):
        return ""
    return _label(collection[index])


def _label(item: object) -> str:
    if isinstance(item, str | int | float):
        return str(item)
    if isinstance(item, Mapping):
        return next((str(item[key]) for key in _LABELS if isinstance(item.get(key), str | int | float)), "")
    return ""


def visit(task_run_id: str) -> str:
    """`get_page` for its first run, and `get_page 7` for its seventh."""
    number = task_run_id.rpartition("/")[2]
    task = task_label(task_run_id)
    return task if number == "1" else f"{task} {number}"


def retry_reason(output: Output) -> str:
    """The status of a response, or the kind of an error."""
    http = output.blocks.get("http")
    if isinstance(http, Mapping) and isinstance(http.get("status"), int):
        return str(http["status"])
    return output.error.kind if output.status is Status.ERROR and output.error is not None else ""


def cut(text: str, width: int) -> str:
    """On one line, and no wider. What would move the cursor or colour the terminal is left out."""
    head = text[: LETTERS_A_COLUMN_MAX * (max(0, width) + 1)]
    line = "".join(_shown(head))
    if len(head) == len(text) and columns(line) <= width:
        return line
    kept, used = "", 0
    for letter in line:
        used += columns(letter)
        if used >= width:
            break
        kept += letter
    return f"{kept}…" if width > 0 else ""


def _shown(text: str) -> Iterator[str]:
    for letter in text:
        kind = category(letter)
        if letter in "\n\r\t":
            yield " "
        elif not kind.startswith("C"):
            yield letter


def columns(text: str) -> int:
    """How many places a text takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(_width(letter) for letter in text)


def _width(letter: str) -> int:
    if category(letter) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if east_asian_width(letter) in ("W", "F") else 1


def padded(text: str, width: int) -> str:
    return text + " " * (width - columns(text))
