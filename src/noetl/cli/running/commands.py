"""The commands that people are given to copy at the end of a run: for the rest of it, or for all of it anew."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from shlex import quote
from typing import NamedTuple

from noetl.cli import rerun, run
from noetl.cli.files import STDIN
from noetl.cli.live.progress import Progress
from noetl.cli.live.words import short_id
from noetl.ports import Registered


class Begun(NamedTuple):
    """An execution, what it runs, and the command that asks for the very same anew."""

    execution_id: str
    playbook: Registered
    anew: str


def advice(begun: Begun, progress: Progress) -> str:
    """What to do about a run that was not completed."""
    if not _has_begun(progress):
        return f"mend what went wrong and run it anew: {begun.anew}"
    rest = "run what is left" if progress.status == "cancelled" else "mend what went wrong and run the rest"
    return f"{rest}: {way_on(begun, progress)}"


def way_on(begun: Begun, progress: Progress) -> str:
    """What is left is run by a rerun, unless nothing was begun from which one could go on."""
    return again(begun.execution_id, begun.playbook) if _has_begun(progress) else begun.anew


def _has_begun(progress: Progress) -> bool:
    return any(line.fate != "pending" for line in progress.steps.values())


def again(execution_id: str, playbook: Registered) -> str:
    """How to run the rest, with the file as it is then if there is one."""
    return " ".join(("noetl rerun", short_id(execution_id), *with_file(playbook.file)))


def run_anew(wanted: run.Arguments, playbook: Registered) -> str:
    """One that was resumed has its workload in the log alone."""
    payload = ("--payload", quote(wanted.payload)) if wanted.payload is not None else ()
    return " ".join(("noetl run", quote(wanted.file or playbook.file or STDIN), *_set(wanted.set), *payload))


def rerun_anew(wanted: rerun.Arguments, origin_id: str) -> str:
    step = ("--from", quote(wanted.from_)) if wanted.from_ else ()
    failed = ("--failed-iterations",) if wanted.failed_iterations else ()
    options = (*step, *failed, *with_file(wanted.playbook), *_set(wanted.set))
    return " ".join(("noetl rerun", short_id(origin_id), *options))


def with_file(file: str) -> Sequence[str]:
    return ("--playbook", quote(file)) if file not in ("", STDIN) else ()


def _set(values: Sequence[str]) -> Iterator[str]:
    return (f"--set {quote(value)}" for value in values)
