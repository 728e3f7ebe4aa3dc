"""A store that takes nothing in the middle of a run: told at once, waited for, given up in the end, and left by Ctrl-C.

The limit on the size of files is a real one that needs no special rights, and can be set while a process runs.
"""

import os
import re
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from tests.acceptance.live import HEAD, Live, statuses
from tests.acceptance.process import noetl

GATE = f"""{HEAD}
workflow:
  - step: gate
    tool:
      kind: python
      code: |
        import os, random, time
        print("waiting")
        while not os.path.exists(path):
            time.sleep(0.02)
        result = random.Random(1).randbytes(size).hex()
      input: {{ path: "{{{{ workload.go }}}}", size: "{{{{ workload.size }}}}" }}
    next: {{ arcs: [ {{ step: after }} ] }}
  - step: after
    tool: {{ kind: python, code: "result = len(text)", input: {{ text: "{{{{ gate.data }}}}" }} }}
"""
FULL = r"the database .* cannot be read or written; look at the disk, its space and the limits of this process .*"
RESULTS_FULL = r"the results in .* cannot grow: the disk is full; free space and try again .*"
LARGE, SMALL = 1_500_000, 10
FAR_S, SOON_S = "3600", "3"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "gate.yaml").write_text(GATE, "utf-8")
    return tmp_path


@contextmanager
def at_the_gate(project: Path, wait_s: str, size: int = SMALL) -> Iterator[Live]:
    """A run whose tool waits for the file `go`."""
    words = ("run", "gate.yaml", "--set", f"go={project / 'go'}", "--set", f"size={size}")
    with Live(*words, folder=project, NOETL_STORE_WAIT=wait_s) as run:
        run.until_printed("waiting")
        yield run


def limit_files(run: Live, size: int) -> None:
    """No file of the run may be written beyond that from now on."""
    resource.prlimit(run.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def pass_the_gate(project: Path) -> None:
    (project / "go").touch()


def resumed(project: Path) -> str:
    return noetl("run", "--resume", "@latest", "-q", folder=project).stdout


def test_a_full_disk_is_told_at_once_and_the_run_goes_on_when_there_is_space(project: Path) -> None:
    with at_the_gate(project, FAR_S) as run:
        limit_files(run, 0)
        pass_the_gate(project)
        run.until_said("; waiting for up to 3600 s, Ctrl-C leaves\n")
        limit_files(run, resource.RLIM_INFINITY)
        assert run.end() == 0
        assert run.data() == f"{2 * SMALL}\n"
    assert len(re.findall(rf"^{FULL}; waiting for up to 3600 s, Ctrl-C leaves$", run.said, re.MULTILINE)) == 1
    assert "the store can be used again; the run goes on\n" in run.said


@pytest.mark.parametrize(("size", "limit", "told"), [(SMALL, 0, FULL), (LARGE, 1_000_000, RESULTS_FULL)])
def test_a_store_that_stays_full_is_given_up_and_the_run_can_be_resumed(
    project: Path, size: int, limit: int, told: str
) -> None:
    with at_the_gate(project, SOON_S, size) as run:
        limit_files(run, limit)
        pass_the_gate(project)
        assert run.end() == 5
        assert run.data() == ""
    end = re.search(rf"^stopped after \d+ s of waiting: {told}\n  = then go on with: (.*)$", run.said, re.MULTILINE)
    assert end is not None
    (name,) = statuses(project)
    assert end[1] == f"noetl run --resume {name}"
    assert resumed(project) == f"{2 * size}\n"


@pytest.mark.parametrize(
    ("signals", "code", "told"),
    [
        ((signal.SIGINT,), 130, "stopped; the cancel could not be recorded within 5 s; go on with: noetl run --resume"),
        ((signal.SIGINT, signal.SIGINT), 130, "stopped; go on with: noetl run --resume"),
        ((signal.SIGTERM,), 143, "stopped by SIGTERM; go on with: noetl run --resume"),
    ],
)
def test_a_signal_ends_the_program_though_the_disk_is_full(
    project: Path, signals: tuple[signal.Signals, ...], code: int, told: str
) -> None:
    with at_the_gate(project, FAR_S) as run:
        limit_files(run, 0)
        pass_the_gate(project)
        run.until_said("Ctrl-C leaves\n")
        run.signal(signals[0])
        if len(signals) > 1:
            run.until_said("cancelling")
            run.signal(*signals[1:])
        assert run.end() == code
        assert told in run.said
    assert set(statuses(project).values()) == {"running"}
    assert resumed(project) == f"{2 * SMALL}\n"


def test_a_database_that_another_process_holds_is_told_and_ctrl_c_ends_the_program(project: Path) -> None:
    with at_the_gate(project, FAR_S) as run:
        other = apsw.Connection(str(project / ".noetl" / "noetl.db"))
        other.execute("BEGIN IMMEDIATE")
        pass_the_gate(project)
        run.until_said("is held by another process; try again, or end the process that holds it")
        run.signal(signal.SIGINT)
        assert run.end() == 130
        other.close()
    assert "the cancel could not be recorded" in run.said
    assert resumed(project) == f"{2 * SMALL}\n"


def test_a_store_that_will_not_be_usable_again_by_itself_is_not_waited_for(project: Path) -> None:
    with at_the_gate(project, FAR_S, LARGE) as run:
        results = project / ".noetl" / "results"
        if results.exists():
            os.rename(results, project / "aside")
        results.write_text("in the way", "utf-8")
        pass_the_gate(project)
        assert run.end() == 5
    assert re.search(r"^stopped: the results in .* cannot be used; give this user a folder", run.said, re.MULTILINE)
    assert "Traceback" not in run.said
    results.unlink()
    assert resumed(project) == f"{2 * LARGE}\n"


def test_a_store_that_is_moved_away_in_the_middle_of_a_run_is_told_and_the_run_goes_on_when_it_is_back(
    project: Path,
) -> None:
    home, aside = project / ".noetl", project / "aside"
    with at_the_gate(project, FAR_S) as run:
        home.rename(aside)
        assert run.end() == 5
        assert run.data() == ""
    assert re.search(r"^stopped: the database .* is gone: it was removed, moved or replaced", run.said, re.MULTILINE)
    assert "Traceback" not in run.said
    assert not home.exists()
    aside.rename(home)
    pass_the_gate(project)
    assert resumed(project) == f"{2 * SMALL}\n"


@pytest.mark.parametrize("given", ["soon", "-1", "nan", "1e9"])
def test_how_long_a_run_waits_must_be_a_number_of_seconds(project: Path, given: str) -> None:
    with Live("run", "gate.yaml", folder=project, NOETL_STORE_WAIT=given) as run:
        assert run.end() == 2
    assert f'NOETL_STORE_WAIT is a number of seconds from 0 to 604800; found "{given}"' in run.said
    assert not (project / ".noetl").exists()
