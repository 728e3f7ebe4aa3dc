"""A rerun as people ask for it: which text it runs, and what they are told before it runs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from noetl.cli.compiling import Compiler
from noetl.cli.console import Console, Stopped
from noetl.cli.embedded import Local, Runtime
from noetl.cli.finding import find_execution
from noetl.cli.live.words import short_id
from noetl.cli.origins import short_name, where_it_ran
from noetl.cli.project import registered
from noetl.cli.reading import loader_of
from noetl.cli.rerun import Arguments
from noetl.cli.running.carried import carried, told_carried
from noetl.cli.running.commands import Begun, again, rerun_anew, with_file
from noetl.cli.running.needs import Needs, refuse_unmet
from noetl.cli.running.secrets import refuse_rerun_without_secrets
from noetl.cli.workload import refuse_elements
from noetl.engine import events as e
from noetl.engine.carrying import Unmoved, unmoved
from noetl.engine.commands import Rejection
from noetl.engine.layering import merge
from noetl.engine.rerun import Cut
from noetl.playbook.compile import Compilation
from noetl.ports import Registered, Summary
from noetl.supply.programs import made_ready

BEGINNING = (e.ExecutionRequested, e.RequestEvaluated, e.WorkflowStarted, e.StepScheduled, e.LoopStarted)


class Text(NamedTuple):
    """Another text of the playbook, as it is given, and how to tell what it needs."""

    compilation: Compilation
    file: str
    needs: Needs


async def started_again(
    runtime: Runtime,
    wanted: Arguments,
    overlay: Mapping[str, object],
    text: Text | None,
    console: Console,
    environment: Mapping[str, str],
) -> Begun:
    """The rerun and what it runs: the text that is given, or that of the origin."""
    local = runtime.local
    origin = await find_execution(local.store, wanted.id)
    if not origin.has_ended:
        raise Stopped(_not_ended(short_id(origin.execution_id)))
    before = await playbook_of(local, origin)
    playbook = before if text is None else await _taken(local, origin, text, overlay, console, quiet=wanted.quiet)
    local.catalog.stand_at(playbook.file)
    anew = rerun_anew(wanted, origin.execution_id)
    declared = merge(made_ready(playbook).playbook.workload, await _workload(local, origin))
    refuse_elements(overlay, declared, verb="rerun")
    workload = merge(declared, overlay)
    await refuse_rerun_without_secrets(local, playbook, workload, environment, console, then=anew)
    cut = Cut(wanted.from_ or None, wanted.failed_iterations)
    other = playbook if playbook.digest != before.digest else None
    answer = await runtime.plane.rerun(origin, cut, overlay, text=other)
    if isinstance(answer, Rejection):
        elsewhere = await _elsewhere(local, answer, wanted, origin)
        raise Stopped(f"{_refused(answer, wanted.playbook, origin)}{elsewhere}")
    if not wanted.quiet:
        if text is None:
            _tell_changed(local, before, origin, wanted, console)
        found = carried([fact async for fact in _first(local, answer)])
        late = unmoved(made_ready(playbook), found.loops, overlay)
        asked = f"noetl rerun {' '.join((short_id(origin.execution_id), *with_file(wanted.playbook)))}"
        for line in (*told_carried(found), *_too_late(late, asked)):
            console.say(line)
    return Begun(answer, playbook, anew)


async def _taken(
    local: Local, origin: Summary, text: Text, overlay: Mapping[str, object], console: Console, *, quiet: bool
) -> Registered:
    """The text that is given, which this machine must be able to run."""
    workload = merge(await _workload(local, origin), overlay)
    unmet = await text.needs.unmet(text.compilation, workload)
    refuse_unmet([msgspec.structs.replace(each, is_recorded=False) for each in unmet], console, quiet=quiet)
    playbook = registered(text.compilation, text.file)
    await local.catalog.register(playbook)
    return playbook


async def _workload(local: Local, origin: Summary) -> Mapping[str, object]:
    """As it was given to the origin."""
    async for fact in loader_of(local, local.store).facts(origin.execution_id):
        if isinstance(fact, e.ExecutionRequested) and isinstance(fact.workload, dict):
            return fact.workload
        break
    return {}


async def playbook_of(local: Local, summary: Summary) -> Registered:
    playbook = await local.catalog.by_digest(summary.digest)
    if playbook is None:
        raise Stopped(f"noetl: the playbook of {summary.execution_id} is not in this project's store")
    return playbook


def _not_ended(name: str) -> str:
    return (
        f"noetl rerun: {name} has not ended\n"
        f"  = if it was interrupted, go on with it: noetl run --resume {name}; to end it: noetl cancel {name}"
    )


def _refused(answer: Rejection, file: str, origin: Summary) -> str:
    if answer.kind != "changed":
        return f"noetl rerun: {answer.message}"
    return (
        f"noetl rerun: the rest of {short_id(origin.execution_id)} cannot run {file}: {answer.message}\n"
        f"  = leave out --playbook to run the text of then, or run all of it: noetl run {file}"
    )


async def _elsewhere(local: Local, answer: Rejection, wanted: Arguments, origin: Summary) -> str:
    """The run before, where the step that is asked for ran in that one."""
    if answer.kind != "unknown" or not wanted.from_:
        return ""
    place = await where_it_ran(loader_of(local, local.store), origin.execution_id, wanted.from_)
    if place is None or place == origin.execution_id:
        return ""
    return f"\n  = `{wanted.from_}` ran in {short_name(place)}, and was kept: {rerun_anew(wanted, place)}"


def _tell_changed(local: Local, before: Registered, origin: Summary, wanted: Arguments, console: Console) -> None:
    """An author who mended the file should know that the run does not see it."""
    if not _has_changed(before, local.catalog.folder, local.compiler):
        return
    step = f" --from {wanted.from_}" if wanted.from_ else ""
    console.say(
        f"{before.file} has changed since that run; this runs the text of then\n"
        f"  = for today's: {again(origin.execution_id, before)}{step}"
    )


def _has_changed(before: Registered, folder: Path, compiler: Compiler) -> bool:
    """Whether the file means something else now. One that is gone or cannot be read says nothing."""
    try:
        data = (folder / before.file).read_bytes() if before.file else b""
    except OSError:
        return False
    playbook = compiler.compiled(data, before.file).playbook if data else None
    return bool(data) and (playbook is None or playbook.digest != before.digest)


async def _first(local: Local, execution_id: str) -> AsyncIterator[e.Fact]:
    """The facts that a rerun begins with."""
    async for fact in loader_of(local, local.store).facts(execution_id):
        if not isinstance(fact, BEGINNING):
            return
        yield fact


def _too_late(loops: Iterable[Unmoved], asked: str) -> Iterator[str]:
    for each in loops:
        keys = " and ".join(f"--set {key}" for key in each.keys)
        yield (
            f"warning: {each.step} goes on with its {each.count} items and its input, for which {keys} comes too late\n"
            f"  = to loop anew: {asked} --from {each.step} --set …"
        )
