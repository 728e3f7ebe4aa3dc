"""`noetl run --dry-run`: all that is known before anything runs. Nothing is started and nothing is stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from noetl.cli import run
from noetl.cli.calling import bound
from noetl.cli.compiling import Compiler
from noetl.cli.console import INVALID, OK, Console
from noetl.cli.home import home_of
from noetl.cli.live.words import duration
from noetl.cli.project import project_of
from noetl.cli.reports.json import printed
from noetl.cli.running.checked import compiled
from noetl.cli.running.needs import Needs, Unmet, refuse_unmet, tell_unread
from noetl.cli.workload import workload_of
from noetl.engine.layering import merge
from noetl.engine.program import Program, ReadyPipeline
from noetl.playbook.diagnostics import Severity
from noetl.playbook.drawing.mermaid import mermaid
from noetl.playbook.model import Loop, LoopMode, Playbook, Step
from noetl.playbook.net.analysis import analyse
from noetl.playbook.net.findings import Bound, BoundKind, WorstCase


async def dry_run(wanted: run.Arguments, console: Console, folder: Path, environment: dict[str, str]) -> int:
    """All that a run would be told, and its plan. What a run would fail at is an error here."""
    compiler = Compiler()
    compilation = compiled(wanted.file, compiler, console)
    given = workload_of(wanted.payload, wanted.set, console)
    home = home_of(folder, environment, console.say)
    needs = Needs(compiler, project_of(wanted.file, folder), environment, home)
    unmet = [*await needs.unmet(compilation, given), *needs.of_values(compilation, given)]
    refuse_unmet(unmet, console)
    told = Counter(each.diagnostic.severity for each in unmet)
    unread = tell_unread(compilation, given, console)
    told[Severity.WARNING] += len(unread)
    playbook = compilation.playbook
    assert playbook is not None
    workload = merge(playbook.workload, given)
    worst = [found for found in analyse(playbook) if isinstance(found, WorstCase)]
    if wanted.output == "json":
        problems = [*map(_problem, unmet), *({"severity": Severity.WARNING, "message": text} for text in unread)]
        console.data(printed(_record(playbook, workload, worst) | {"problems": problems}))
    else:
        program = Program(playbook, kinds=compiler.installed.kinds_of(playbook))
        console.data("\n".join(_lines(program, _judged(told), workload, worst)) + "\n")
    return INVALID if told[Severity.ERROR] else OK


def _record(playbook: Playbook, workload: Mapping[str, object], worst: list[WorstCase]) -> dict[str, object]:
    return {
        "playbook": playbook.metadata.path,
        "digest": playbook.digest,
        "workload": workload,
        "steps": [_step(step, worst) for step in playbook.workflow],
        "keychain": _entries(playbook),
    }


def _problem(unmet: Unmet) -> dict[str, object]:
    found = unmet.diagnostic
    place = {"file": unmet.compilation.source.name, "line": found.span.line, "column": found.span.column}
    return {"code": found.code, "severity": found.severity, "message": found.message, **place}


def _judged(told: Mapping[Severity, int]) -> str:
    errors, warnings = told[Severity.ERROR], told[Severity.WARNING]
    if errors:
        return f"would fail: {_counted(errors, 'error')}, see above"
    return f"is sound, with {_counted(warnings, 'warning')}, see above" if warnings else "is sound"


def _counted(count: int, word: str) -> str:
    return f"1 {word}" if count == 1 else f"{count} {word}s"


def _lines(program: Program, judged: str, workload: Mapping[str, object], worst: list[WorstCase]) -> Iterator[str]:
    playbook = program.playbook
    yield f"{playbook.metadata.path} {judged}; nothing was run"
    yield ""
    yield "workload"
    for key, value in workload.items():
        yield f"  {key}: {msgspec.json.encode(value).decode()}"
    if playbook.keychain:
        yield f"keychain: {', '.join(_entries(playbook))}"
    yield ""
    yield "steps"
    width = max(len(step.name) for step in playbook.workflow)
    for step in playbook.workflow:
        yield f"  {step.name:<{width}}  {_told(step, program, worst, workload)}"
    yield ""
    yield mermaid(playbook).rstrip()


def _told(step: Step, program: Program, worst: list[WorstCase], workload: Mapping[str, object]) -> str:
    kinds = ", ".join(dict.fromkeys(task.kind for task in step.tool)) or "routing only"
    loops = [_loop(level, workload) for level in (step.loop.levels() if step.loop is not None else ())]
    own = [_worst(found, program.pipeline(step.name)) for found in worst if found.owner is step]
    return "; ".join((kinds, *loops[:1], *(f"in it a {each}" for each in loops[1:]), *own))


def _loop(loop: Loop, workload: Mapping[str, object]) -> str:
    if loop.mode is LoopMode.SEQUENTIAL:
        return f"loop {loop.mode}"
    return f"loop {loop.mode}, at most {bound(loop.max_in_flight, workload) or loop.max_in_flight} at once"


def _worst(found: WorstCase, pipeline: ReadyPipeline) -> str:
    each = " an iteration" if found.per_iteration else ""
    return f"worst case {_runs(found.task_runs, pipeline)} and {_seconds(found.wait_s)} of waiting{each}"


def _runs(bound: Bound, pipeline: ReadyPipeline) -> str:
    """Rules and rounds may go on for ever, but no pipeline does."""
    if bound.kind is BoundKind.AT_MOST:
        return f"{bound.value:.0f} task runs"
    return f"{pipeline.task_runs_max} task runs (`spec.limits.task_runs_max`)"


def _seconds(bound: Bound) -> str:
    return duration(bound.value) if bound.kind is BoundKind.AT_MOST else "an unknown time"


def _step(step: Step, worst: list[WorstCase]) -> dict[str, object]:
    found = next((each for each in worst if each.owner is step), None)
    return {
        "step": step.name,
        "kinds": [task.kind for task in step.tool],
        "loop": step.loop is not None,
        "worst_case": None if found is None else {"task_runs": found.task_runs, "wait_s": found.wait_s},
        "next": [arc.step for arc in step.next.arcs],
    }


def _entries(playbook: Playbook) -> list[str]:
    return [entry.name for entry in playbook.keychain]
