"""One execution in this process, from its start or where it was interrupted to its end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from noetl.cli import rerun, run
from noetl.cli.compiling import Compiler
from noetl.cli.console import OK, Console, OutputLost, Stopped
from noetl.cli.embedded import Runtime, abandoned, opened, serving, working
from noetl.cli.finding import find_execution, interrupted
from noetl.cli.home import home_of
from noetl.cli.live.progress import Progress
from noetl.cli.live.words import short_id
from noetl.cli.presence import who_is_present
from noetl.cli.project import project_of, registered
from noetl.cli.reading import loader_of, required
from noetl.cli.running.again import Text, playbook_of, started_again
from noetl.cli.running.carried import told_resumed
from noetl.cli.running.checked import compiled
from noetl.cli.running.commands import Begun, advice, run_anew, way_on
from noetl.cli.running.ending import failed_iterations, report_end
from noetl.cli.running.following import Follower
from noetl.cli.running.interrupts import Interrupts
from noetl.cli.running.leaving import Leaving
from noetl.cli.running.needs import Needs, refuse_unmet, tell_unread
from noetl.cli.running.parking import try_again, unless_parked
from noetl.cli.running.patience import Patience, patience_of
from noetl.cli.running.secrets import refuse_without_secrets
from noetl.cli.workload import workload_of
from noetl.engine.commands import Rejection
from noetl.playbook.compile import Compilation
from noetl.ports import Registered, Summary
from noetl.supply.programs import made_ready

BY_HAND = "by Ctrl-C"
"""Why a run was cancelled, as its log and its last line tell it."""


async def run_local(wanted: run.Arguments, console: Console, folder: Path, environment: dict[str, str]) -> int:
    wait_s = patience_of(environment)
    compiler = Compiler()
    compilation = compiled(wanted.file, compiler, console) if wanted.file else None
    workload = workload_of(wanted.payload, wanted.set, console)
    home = home_of(folder, environment, _voice(wanted, console))
    if compilation is not None:
        needs = Needs(compiler, project_of(wanted.file, folder), environment, home)
        await _check(needs, compilation, workload, console, quiet=wanted.quiet)
    is_new = not home.exists()
    async with opened(home, folder, compiler) as local, serving(local, environment) as runtime:
        if is_new and not wanted.quiet:
            console.say(f"the state of runs is kept in {home}")
        if compilation is None:
            return await _resumed(runtime, wanted, console, environment, wait_s)
        playbook = registered(compilation, wanted.file)
        local.catalog.stand_at(playbook.file)
        await _tell_interrupted(runtime, playbook, console, quiet=wanted.quiet)
        execution_id = await _started(runtime, playbook, workload)
        begun = Begun(execution_id, playbook, run_anew(wanted, playbook))
        return await _followed(runtime, begun, wanted, console, environment, wait_s)


async def rerun_local(wanted: rerun.Arguments, console: Console, folder: Path, environment: dict[str, str]) -> int:
    """What failed, or what follows from a step, as a new execution that keeps the rest."""
    wait_s = patience_of(environment)
    compiler = Compiler()
    compilation = compiled(wanted.playbook, compiler, console) if wanted.playbook else None
    overlay = workload_of(None, wanted.set, console, verb="rerun")
    home = required(home_of(folder, environment, _voice(wanted, console)))
    text = None
    if compilation is not None:
        needs = Needs(compiler, project_of(wanted.playbook, folder), environment, home)
        text = Text(compilation, wanted.playbook, needs)
    async with opened(home, folder, compiler) as local, serving(local, environment) as runtime:
        begun = await started_again(runtime, wanted, overlay, text, console, environment)
        return await _followed(runtime, begun, wanted, console, environment, wait_s)


def _voice(wanted: run.Arguments | rerun.Arguments, console: Console) -> Callable[[str], None]:
    return (lambda _: None) if wanted.quiet else console.say


async def _check(
    needs: Needs, compilation: Compilation, workload: Mapping[str, object], console: Console, *, quiet: bool
) -> None:
    """What a run begins with is left to the run, which fails at it with the same words."""
    later = [each for each in needs.of_values(compilation, workload) if not each.is_error]
    refuse_unmet([*await needs.unmet(compilation, workload), *later], console, quiet=quiet)
    if not quiet:
        tell_unread(compilation, workload, console)


async def _started(runtime: Runtime, playbook: Registered, workload: Mapping[str, object]) -> str:
    await runtime.local.catalog.register(playbook)
    answer = await runtime.plane.request(playbook, workload)
    if isinstance(answer, Rejection):
        raise Stopped(f"noetl run: {answer.message}")
    return answer


async def _resumed(
    runtime: Runtime, wanted: run.Arguments, console: Console, environment: dict[str, str], wait_s: float
) -> int:
    """What is left of a run that was interrupted; one that has ended is told of and runs no more."""
    local = runtime.local
    summary = await find_execution(local.store, wanted.resume)
    playbook = await playbook_of(local, summary)
    local.catalog.stand_at(playbook.file)
    if summary.has_ended:
        return await _told_again(runtime, summary, playbook, wanted, console)
    await refuse_without_secrets(local, summary.execution_id, environment, console)
    await try_again(runtime, summary.execution_id)
    there = who_is_present(local.home)
    left = await abandoned(local.store, summary.execution_id, there)
    if left:
        await runtime.plane.release(left)
    if not wanted.quiet:
        elsewhere = summary.execution_id in there.executions
        state = (await loader_of(local, local.store).load(summary.execution_id)).state
        console.say("another process works on it already; this one works along" if elsewhere else told_resumed(state))
    begun = Begun(summary.execution_id, playbook, run_anew(wanted, playbook))
    return await _followed(runtime, begun, wanted, console, environment, wait_s)


async def _told_again(
    runtime: Runtime, summary: Summary, playbook: Registered, wanted: run.Arguments, console: Console
) -> int:
    """How it ended, by its result and its exit code, as if this process had been there."""
    name = short_id(summary.execution_id)
    if not wanted.quiet:
        console.say(f"{name} has ended already and is not resumed; nothing runs")
    steps = list(made_ready(playbook).steps)
    follower = Follower(playbook.path, summary.execution_id, steps, console, runtime.local.system, quiet=True)
    progress = await follower.follow(runtime.plane.feed)
    code = await _told_end(runtime, progress, playbook, console, as_json=wanted.output == "json")
    if not wanted.quiet:
        begun = Begun(summary.execution_id, playbook, run_anew(wanted, playbook))
        left = f"what is left: {way_on(begun, progress)}"
        console.say(f"  = its result: noetl result {name}" if code == OK else f"  = {left}")
    return code


async def _tell_interrupted(runtime: Runtime, playbook: Registered, console: Console, *, quiet: bool) -> None:
    there = who_is_present(runtime.local.home)
    found: Summary | None = await interrupted(runtime.local.store, playbook.path, there)
    if found is not None and not quiet:
        console.say(
            f"an earlier run of {playbook.path} was interrupted: noetl run --resume {short_id(found.execution_id)}"
        )


async def _followed(
    runtime: Runtime,
    begun: Begun,
    wanted: run.Arguments | rerun.Arguments,
    console: Console,
    environment: dict[str, str],
    wait_s: float,
) -> int:
    execution_id, playbook, _ = begun
    program = made_ready(playbook)
    name, steps, clock = program.playbook.metadata.name, list(program.steps), runtime.local.system
    follower = Follower(name, execution_id, steps, console, clock, quiet=wanted.quiet)
    leaving = Leaving(execution_id, follower)
    patience = Patience(runtime.local.health, clock, leaving, follower, wait_s)
    with Interrupts(lambda: runtime.plane.cancel(execution_id, BY_HAND), leaving, follower):
        async with working(runtime, execution_id, environment, int(wanted.slots)) as worker, patience.watching():
            leaving.hold = worker.hold
            leaving.hand_back = lambda: worker.stop(0.0)
            progress = await unless_parked(runtime.local.store, execution_id, follower.follow(runtime.plane.feed))
            await leaving.over()
        await leaving.over()
    code = await _told_end(runtime, progress, playbook, console, as_json=wanted.output == "json")
    partly = failed_iterations(progress)
    if partly is not None and not wanted.quiet:
        console.say(partly)
    if code != OK and not wanted.quiet:
        console.say(f"  = {advice(begun, progress)}")
    return code


async def _told_end(
    runtime: Runtime, progress: Progress, playbook: Registered, console: Console, *, as_json: bool
) -> int:
    try:
        code = await report_end(runtime.local, progress, playbook.path, console, as_json=as_json)
        console.flush()
    except OutputLost as lost:
        told = f"{lost.message}\n  = the run is {progress.status}; its result: noetl result {progress.execution_id}"
        raise Stopped(told, lost.code) from lost
    return code
