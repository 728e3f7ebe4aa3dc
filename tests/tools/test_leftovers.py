"""What leaves the process group of its task: it ends with the task all the same, and nothing else does."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from noetl.engine.output import Output
from noetl.ports import Tool, ToolCall
from noetl.processes import MARK, Command, Process
from noetl.tools.contract import Heard
from noetl.tools.python import Python
from noetl.tools.script import Script
from tests.tools.calling import PATIENCE_S, are_soon_gone, call_of, is_running

DAEMON = (
    'import subprocess\nwords = ["setsid", "--fork", "sh", "-c", "echo $$; exec sleep 1000 >/dev/null 2>&1"]\n'
    "result = int(subprocess.run(words, stdout=subprocess.PIPE).stdout)\n"
)


LEFT = "read pid < <({}setsid --fork sh -c 'echo $$; exec sleep 1000 {}'); echo $pid"
QUIET = ">/dev/null 2>&1 </dev/null"


class Loud:
    """A console that says when something was written to it."""

    def __init__(self) -> None:
        self.text = ""
        self.is_heard = asyncio.Event()

    def write(self, text: str, *, stream: str = "stdout") -> None:  # noqa: ARG002
        self.text += text
        self.is_heard.set()


async def script(text: str, **spec: object) -> tuple[Output, int]:
    """What came of a script, and the process that it named first."""
    heard = Heard()
    tool = Script(os.environ)
    output = await tool.run(call_of("script", {"script": text}, **spec), heard)  # type: ignore[arg-type]
    await tool.close()
    return output, int(heard.texts["stdout"].split()[0])


@contextmanager
def left_running(pid: int) -> Iterator[int]:
    try:
        yield pid
    finally:
        os.kill(pid, signal.SIGKILL)


async def test_a_process_of_another_session_ends_with_the_script_that_left_it() -> None:
    output, pid = await script(LEFT.format("", ""))
    assert output.error is None
    assert are_soon_gone(pid)


async def test_a_process_of_another_session_that_prints_nowhere_ends_with_the_script_too() -> None:
    output, pid = await script(LEFT.format("", QUIET))
    assert output.error is None
    assert are_soon_gone(pid)


DEAF = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print(os.getpid(), flush=True)
os.closerange(0, 100)
time.sleep(1000)
"""


async def test_a_script_that_is_cancelled_leaves_nothing_whatever_that_has_closed() -> None:
    fields = {"script": f"setsid {sys.executable} -c '{DEAF}' & sleep 1000"}
    assert are_soon_gone(await cancelled(Script(os.environ), call_of("script", fields)))


async def test_code_that_is_cancelled_leaves_nothing() -> None:
    popen = f"subprocess.Popen({[sys.executable, '-c', DEAF]}, start_new_session=True)"
    fields = {"code": f"import subprocess, time\n{popen}\ntime.sleep(1000)"}
    assert are_soon_gone(await cancelled(Python(os.environ), call_of("python", fields)))


async def cancelled(tool: Tool, call: ToolCall) -> int:
    """The process that a task named, whereupon the task was cancelled."""
    loud = Loud()
    task = asyncio.create_task(tool.run(call, loud))
    await asyncio.wait_for(loud.is_heard.wait(), PATIENCE_S)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await tool.close()
    return int(loud.text)


async def test_what_code_left_ends_with_the_process_that_ran_it() -> None:
    tool = Python(os.environ)
    output = await tool.run(call_of("python", {"code": DAEMON}), Heard())
    assert isinstance(output.data, int)
    assert is_running(output.data)
    await tool.close()
    assert are_soon_gone(output.data)


async def test_what_left_the_group_may_clean_up_before_it_is_killed() -> None:
    loud = Loud()
    cleans = 'trap "echo cleaned; exit" TERM; echo ready; while true; do sleep 0.05; done'
    command = Command(["/bin/bash", "-c", f"setsid bash -c '{cleans}'; true"], {"PATH": os.environ["PATH"]})
    process = Process(command, lambda data, stream: loud.write(data.decode(), stream=stream))
    await asyncio.wait_for(loud.is_heard.wait(), PATIENCE_S)
    await process.stop()
    assert loud.text.endswith("cleaned\n")


async def test_what_is_started_without_the_mark_may_stay() -> None:
    output, pid = await script(LEFT.format(f"env -u {MARK} ", QUIET))
    with left_running(pid):
        assert output.error is None
        assert is_running(pid)


@pytest.mark.parametrize("mark", ["", "1-1", "0-0x"])
async def test_what_carries_another_mark_is_left_alone(mark: str) -> None:
    foreign = subprocess.Popen(["sleep", "1000"], env={**os.environ, MARK: mark, "X": f"{MARK}=0-0"})
    output, pid = await script(LEFT.format("", ""))
    assert output.error is None
    assert are_soon_gone(pid)
    assert foreign.poll() is None
    foreign.kill()
    foreign.wait()
