"""The live picture on a terminal: redrawn in place, and left standing when the run is over."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from noetl.cli.live.progress import RECENT_MAX, IterationLine, Progress, StepLine
from noetl.cli.live.words import duration

if TYPE_CHECKING:
    from noetl.cli.console import Paint

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
MARKS = {"pending": "·", "done": "✓", "failed": "✗", "skipped": "⊘", "cancelled": "⊘", "waiting": "⏸"}
ROLES = {"done": "good", "failed": "error", "skipped": "code", "cancelled": "warning", "pending": "code"}
BAR_WIDTH = 12
NAME_WIDTH_MAX = 32


def picture(progress: Progress, now: float, frame: int, size: tuple[int, int], paint: Paint) -> list[str]:
    """The lines as they are now, none wider than the terminal and together not taller."""
    width, height = size
    lines = [f"▶ {paint(progress.title, 'strong')}  {paint(progress.execution_id[:8], 'code')}"]
    name_width = min(max((len(name) for name in progress.steps), default=0), NAME_WIDTH_MAX)
    for step in progress.steps.values():
        lines += _step_lines(step, now, frame, name_width, width, paint)
    return _fitted(lines, height)


def _step_lines(step: StepLine, now: float, frame: int, name_width: int, width: int, paint: Paint) -> Iterator[str]:
    mark = SPINNER[frame % len(SPINNER)] if step.mark == "running" else MARKS[step.mark]
    parts = [part for part in (*_facts(step, now), step.note) if part]
    text = f"{step.name:<{name_width}}  {'   '.join(parts)}".rstrip()
    yield f"  {paint(mark, ROLES.get(step.mark, 'hint'))} {cut(text, width - 4)}"
    if step.error is not None and step.mark == "failed":
        yield f"      {paint(cut(step.error.message, width - 6), 'error')}"
    if step.total is not None and step.mark == "running":
        shown = sorted(step.iterations.items(), key=lambda item: item[1].mark == "running")[-RECENT_MAX:]
        for _, iteration in shown:
            yield _iteration(iteration, now, frame, width, paint)


def _facts(step: StepLine, now: float) -> Iterator[str]:
    if step.total is not None:
        ended = step.done + step.failed
        yield f"loop {ended}/{step.total}"
        if step.mark == "running" and step.total:
            yield f"▕{'█' * (BAR_WIDTH * ended // step.total):<{BAR_WIDTH}}▏"
        if step.failed:
            yield f"{step.failed} failed"
    if step.runs > 1:
        yield f"run {step.runs}"
    if step.started_at is not None:
        yield duration((step.ended_at or now) - step.started_at)
    if step.retries:
        yield f"{step.retries} {'retry' if step.retries == 1 else 'retries'}"


def _iteration(line: IterationLine, now: float, frame: int, width: int, paint: Paint) -> str:
    mark = SPINNER[frame % len(SPINNER)] if line.mark == "running" else MARKS[line.mark]
    left = f" in {duration(line.due_at - now)}" if line.due_at is not None and line.due_at > now else ""
    return f"      {paint(mark, ROLES.get(line.mark, 'hint'))} {cut(f'{line.label} {line.note}{left}', width - 8)}"


def _fitted(lines: list[str], height: int) -> list[str]:
    """A long playbook keeps its head and what happens last."""
    room = max(3, height - 1)
    if len(lines) <= room:
        return lines
    hidden = len(lines) - room + 1
    return [lines[0], f"  … {hidden} more lines above", *lines[hidden + 1 :]]


def cut(text: str, width: int) -> str:
    """On one line, and no wider."""
    line = text.replace("\n", " ").replace("\r", " ").replace("\t", " ")
    return line if len(line) <= width else f"{line[: max(0, width - 1)]}…"
