"""Child processes end with the process that started them, even when that is killed."""

import asyncio
import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from noetl.processes import Command, Process, death
from tests.tools.calling import are_soon_gone, is_running

KEEPER = """
import asyncio, sys
from noetl.processes import Command, Process

async def main():
    script = "sleep 1000 & echo $!; echo $$; wait"
    command = Command(["/bin/sh", "-c", script], {"PATH": "/usr/bin:/bin"})
    Process(command, lambda data, stream: print(data.decode(), end="", flush=True))
    await asyncio.sleep(1000)

asyncio.run(main())
"""


def test_a_child_and_its_group_die_with_us_however_we_end_where_the_kernel_can_see_to_it() -> None:
    with subprocess.Popen([sys.executable, "-c", KEEPER], stdout=subprocess.PIPE, text=True) as keeper:
        assert keeper.stdout is not None
        pids = [int(keeper.stdout.readline()) for _ in range(2)]
        assert all(map(is_running, pids))
        keeper.send_signal(signal.SIGKILL)
    are_bound = are_soon_gone(*pids)
    for pid in filter(is_running, pids):
        os.kill(pid, signal.SIGKILL)
    assert are_bound == hasattr(fcntl, "F_SETSIG")


def test_a_program_that_is_not_there_leaves_no_descriptors() -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))

    async def start() -> None:
        with pytest.raises(FileNotFoundError):
            Process(Command(["/no/such/program"], {}), print)

    asyncio.run(start())
    assert len(list(Path("/proc/self/fd").iterdir())) == before


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (3, "the process ended by itself with exit code 3"),
        (-signal.SIGSEGV, "the process was killed by SIGSEGV"),
        (-signal.SIGKILL, "the process was killed by SIGKILL; the system kills so when memory is short"),
        (-50, "the process was killed by signal 50"),
    ],
)
def test_the_end_of_a_child_is_told_in_words(code: int, text: str) -> None:
    assert death(code) == text
