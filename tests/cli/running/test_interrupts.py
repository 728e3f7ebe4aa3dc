"""What a second signal is answered with, and that nothing holds up the end."""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

TIMEOUT_S = 60
CANCELLING = "cancelling; Ctrl-C again stops at once, and the run can be resumed"


@contextmanager
def waiting(cancel: str) -> Iterator[subprocess.Popen[bytes]]:
    words = [sys.executable, "-m", "tests.cli.running.interrupted", cancel]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        try:
            assert line(process) == "ready"
            yield process
        finally:
            process.kill()


def line(process: subprocess.Popen[bytes]) -> str:
    assert process.stdout is not None
    found = b""
    while not found.endswith(b"\n"):
        ready, _, _ = select.select([process.stdout], [], [], TIMEOUT_S)
        data = os.read(process.stdout.fileno(), 1) if ready else b""
        assert data, found
        found += data
    return found.decode().rstrip("\n")


@pytest.mark.parametrize(
    ("cancel", "sign", "told"),
    [
        ("recorded", "recorded", "the run was cancelled before; run what is left with: noetl rerun x1"),
        ("refused", "recorded", "the run was cancelled before; run what is left with: noetl rerun x1"),
        ("unanswered", "asked", "whether the cancel was recorded tells: noetl status x1"),
    ],
)
def test_a_late_second_ctrl_c_is_told_what_became_of_the_cancel(cancel: str, sign: str, told: str) -> None:
    with waiting(cancel) as process:
        process.send_signal(signal.SIGINT)
        assert [line(process), line(process)] == [CANCELLING, sign]
        process.send_signal(signal.SIGINT)
        assert line(process) == f"stopped; {told}"
        assert process.wait(TIMEOUT_S) == 130


def test_there_is_time_for_a_second_ctrl_c_before_the_cancel() -> None:
    with waiting("timed") as process:
        process.send_signal(signal.SIGINT)
        assert [line(process), line(process)] == [CANCELLING, "later"]


def test_a_cancel_without_an_answer_is_given_up() -> None:
    with waiting("unanswered") as process:
        process.send_signal(signal.SIGINT)
        assert [line(process), line(process)] == [CANCELLING, "asked"]
        told = "stopped; the cancel could not be recorded within 5 s; go on with: noetl run --resume x1"
        assert line(process) == told
        assert process.wait(TIMEOUT_S) == 130


def test_work_that_cannot_be_given_back_does_not_hold_up_the_end() -> None:
    with waiting("recorded") as process:
        process.send_signal(signal.SIGTERM)
        assert line(process) == "stopped by SIGTERM; go on with: noetl run --resume x1"
        assert line(process) == "handing back"
        assert process.wait(TIMEOUT_S) == 143


def test_another_signal_while_work_is_given_back_ends_the_process_in_that_instant() -> None:
    with waiting("recorded") as process:
        process.send_signal(signal.SIGTERM)
        assert [line(process)[:7], line(process)] == ["stopped", "handing back"]
        process.send_signal(signal.SIGINT)
        assert process.wait(TIMEOUT_S) == 130


@pytest.mark.parametrize("signals", [[signal.SIGTERM], [signal.SIGINT, signal.SIGTERM]])
def test_an_event_loop_that_stands_still_does_not_hold_up_the_end(signals: list[signal.Signals]) -> None:
    with waiting("stuck") as process:
        for number in signals:
            process.send_signal(number)
        assert process.wait(TIMEOUT_S) == 143
