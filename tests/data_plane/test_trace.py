"""What is told of a bug in a worker: where it happened, and nothing that may be a secret."""

import logging

from noetl.data_plane.trace import CHAIN_MAX, FRAMES_MAX, trace_of
from noetl.ports import Registered
from tests.data_plane.lines import Line
from tests.runtime import Rig, chain, played

SECRET = "hunter2-hunter2"


def raised(count: int) -> Exception:
    """A bug that came of a bug, so many times."""
    try:
        if count > 1:
            raise raised(count - 1)
        dict[str, int]()[SECRET]
    except (KeyError, ValueError) as bug:
        found = ValueError(SECRET)
        found.__cause__ = bug
        return found
    raise AssertionError


def deep(levels: int) -> Exception:
    try:
        deeper(levels)
    except ZeroDivisionError as bug:
        return bug
    raise AssertionError


def deeper(levels: int) -> float:
    return deeper(levels - 1) if levels % 2 else deeper(levels - 1) + 1 if levels else 1 / 0


class Heard(logging.Handler):
    """What the worker logs."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.setFormatter(logging.Formatter())

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))

    def __enter__(self) -> "Heard":
        logging.getLogger("noetl.data_plane").addHandler(self)
        return self

    def __exit__(self, *_trouble: object) -> None:
        logging.getLogger("noetl.data_plane").removeHandler(self)


def test_a_bug_is_told_by_type_and_place_with_what_led_to_it() -> None:
    told = trace_of(raised(1))
    assert SECRET not in told
    assert [line for line in told.splitlines() if not line.startswith(" ")] == [
        "KeyError",
        "which led to:",
        "ValueError",
    ]
    assert f'File "{__file__}"' in told
    assert "in raised" in told


def test_what_is_told_of_a_bug_has_a_bound() -> None:
    assert trace_of(raised(20)).count("which led to:") == CHAIN_MAX - 1
    assert trace_of(deep(300)).count("  File ") <= FRAMES_MAX


def test_what_was_left_out_on_purpose_is_not_told() -> None:
    bug = ValueError()
    bug.__context__ = KeyError()
    assert "KeyError" in trace_of(bug)
    bug.__suppress_context__ = True
    assert "KeyError" not in trace_of(bug)


# ------------------------------------------------------------------------------ in the log of a worker


def breaking(rig: Rig, at: int) -> None:
    """Lets the worker meet a bug where it draws for that time."""
    draws: list[int] = []

    def draw() -> float:
        draws.append(1)
        if len(draws) == at:
            raise KeyError(SECRET)
        return 0.5

    rig.system.draw = draw


@played
async def test_a_bug_in_a_task_run_is_logged_without_its_words(rig: Rig) -> None:
    plane = rig.serve()
    breaking(rig, at=2)
    with Heard() as heard:
        rig.work(plane)
        assert await rig.end(await rig.begin(plane, chain("a"))) == "failed"
    (line,) = heard.lines
    assert line.startswith("task run ")
    assert "in draw" in line
    assert line.endswith("KeyError")


@played
async def test_a_bug_outside_of_task_runs_is_logged_without_its_words(rig: Rig) -> None:
    plane = rig.serve()
    breaking(rig, at=1)
    with Heard() as heard:
        rig.work(plane)
        assert await rig.end(await rig.begin(plane, chain("a"))) == "completed"
    (line,) = heard.lines
    assert line.startswith("lease ")
    assert "in draw" in line
    assert line.endswith("KeyError")


class BrokenLine(Line):
    async def playbook(self, digest: str) -> Registered | None:  # noqa: ARG002
        raise KeyError(SECRET)


@played
async def test_a_bug_with_work_that_is_not_in_hand_yet_is_logged_without_its_words(rig: Rig) -> None:
    plane = rig.serve()
    with Heard() as heard:
        rig.work(BrokenLine(plane))
        assert await rig.end(await rig.begin(plane, chain("a")), within_s=600.0) == "failed"
    assert all(line.startswith("lease ") and "in playbook" in line for line in heard.lines)
    assert {line.splitlines()[-1] for line in heard.lines} == {"KeyError"}
