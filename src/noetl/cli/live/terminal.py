"""The live picture as lines of text: no line wider than the terminal, together not taller, what happens in sight."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from noetl.cli.live.progress import Doing, IterationLine, Progress, StepLine
from noetl.cli.live.words import columns, cut, duration, padded, short_id

if TYPE_CHECKING:
    from noetl.cli.console import Paint

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
STILL = "◌"
MARKS = {"pending": "·", "done": "✓", "kept": "✓", "failed": "✗", "skipped": "⊘", "cancelled": "⊘"}
ROLES = {
    "done": "good", "kept": "code", "failed": "error", "skipped": "code", "cancelled": "warning", "pending": "code",
}  # fmt: skip
BAR_WIDTH = 12
BAR_COLUMNS_MIN = 60
"""A narrower terminal has better uses for its room."""

NAME_WIDTH_MIN, NAME_WIDTH_MAX = 8, 32
ITEM_WIDTH_MAX = 24
ITERATIONS_MAX = 3
"""Iterations that are shown beside the counts of a loop."""

SHELL_LINES = 1
"""Where the cursor stands below the picture."""


class View(NamedTuple):
    """How a picture is drawn: at what time, and for what terminal. Without `height` it has all its lines.

    One that `is_still` shows what nobody works on any more.
    """

    now: float
    width: int
    paint: Paint
    frame: int = 0
    height: int | None = None
    is_still: bool = False


class _Row(NamedTuple):
    """A step in columns: `middle` is its loop, `took` its time, `rest` what else is to be said."""

    step: StepLine
    middle: str
    took: str
    rest: str


class _Line(NamedTuple):
    text: str
    is_active: bool = False


def picture(progress: Progress, view: View) -> list[str]:
    name = short_id(progress.execution_id)
    title = cut(progress.title, view.width - len(name) - 5)
    head = f"▶ {view.paint(title, 'strong')}  {view.paint(name, 'code')}"
    rows = [_row(step, view) for step in progress.steps.values()]
    widths = _Widths(rows, view.width)
    lines = [line for row in rows for line in _step_lines(row, widths, view)]
    return [head, *_fitted(lines, view.height)]


class _Widths:
    """Of the columns, so that names and times stand below each other."""

    def __init__(self, rows: Sequence[_Row], width: int) -> None:
        self.middle = max((columns(row.middle) for row in rows), default=0)
        self.took = max((columns(row.took) for row in rows), default=0)
        room = width - 4 - (self.middle + 2 if self.middle else 0) - self.took - 2
        name_max = max(NAME_WIDTH_MIN, min(NAME_WIDTH_MAX, room))
        self.name = min(max((columns(row.step.name) for row in rows), default=0), name_max)

    def laid(self, row: _Row) -> str:
        middle = f"  {padded(row.middle, self.middle)}" if self.middle else ""
        took = f"{row.took:>{self.took}}"
        name = padded(cut(row.step.name, self.name), self.name)
        return f"{name}{middle}  {took}   {row.rest}".rstrip()


def _row(step: StepLine, view: View) -> _Row:
    took = "" if step.started_at is None else duration((step.ended_at or view.now) - step.started_at)
    return _Row(step, _loop(step, view.width), took, "   ".join(_rest(step, view.now)))


def _loop(step: StepLine, width: int) -> str:
    if step.total is None:
        return ""
    ended = step.done + step.failed
    counts = f"loop {ended}/{step.total}"
    if step.mark != "running" or not step.total or width < BAR_COLUMNS_MIN:
        return counts
    return f"{counts}  ▕{'█' * (BAR_WIDTH * ended // step.total):<{BAR_WIDTH}}▏"


def _rest(step: StepLine, now: float) -> Iterator[str]:
    if step.failed:
        yield f"{step.failed} failed"
    if step.runs > 1:
        yield f"run {step.runs}"
    if step.retries:
        yield f"{step.retries} {'retry' if step.retries == 1 else 'retries'}"
    if step.mark in ("kept", "skipped", "cancelled"):
        yield step.mark
    if step.mark == "running":
        yield from _doing(step.doing, now)


def _doing(doing: Doing, now: float) -> Iterator[str]:
    if doing.text:
        yield doing.text
    if doing.is_retrying:
        left = f" in {duration(doing.due_at - now)}" if doing.due_at is not None and doing.due_at > now else ""
        yield f"retrying{left}{f' ({doing.why})' if doing.why else ''}"


def _step_lines(row: _Row, widths: _Widths, view: View) -> Iterator[_Line]:
    step = row.step
    is_running = step.mark == "running"
    yield _Line(f"  {_mark(step.mark, view)} {cut(widths.laid(row), view.width - 4)}", is_running)
    if step.error is not None and step.mark == "failed":
        yield _Line(f"      {view.paint(cut(step.error.message, view.width - 6), 'error')}", True)
    if step.total is not None and is_running:
        for line in _shown(step):
            yield _Line(_iteration(line, view), True)


def _shown(step: StepLine) -> list[IterationLine]:
    """Those that run longest, and before them the one that ended last."""
    ended = [step.ended] if step.ended is not None else []
    return [*ended, *islice(step.running.values(), ITERATIONS_MAX - len(ended))]


def _iteration(line: IterationLine, view: View) -> str:
    parts = [
        part for part in (cut(line.item, min(ITEM_WIDTH_MAX, view.width // 3)), *_doing(line.doing, view.now)) if part
    ]
    text = f"{line.label} {'   '.join(parts)}".rstrip()
    return f"      {_mark(line.mark, view)} {cut(text, view.width - 8)}"


def _mark(mark: str, view: View) -> str:
    if mark == "running":
        moving = SPINNER[view.frame % len(SPINNER)]
        return view.paint(STILL, "warning") if view.is_still else view.paint(moving, "hint")
    return view.paint(MARKS[mark], ROLES[mark])


def _fitted(lines: Sequence[_Line], height: int | None) -> list[str]:
    """Of more lines than there is room for, those around what happens."""
    texts = [line.text for line in lines]
    if height is None or len(lines) <= height - 1 - SHELL_LINES:
        return texts
    room = max(1, height - 1 - SHELL_LINES - 2)
    last = max((at for at, line in enumerate(lines) if line.is_active), default=0)
    first = max(0, min(last - room + 1 + room // 4, len(lines) - room))
    below = len(lines) - first - room
    return [
        *([f"  … {first} more above"] if first else []),
        *texts[first : first + room],
        *([f"  … {below} more below"] if below else []),
    ]
