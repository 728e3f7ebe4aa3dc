"""The processes in which code runs: what they may do, what ends them, and what stays when they are warm."""

import ast
import asyncio
import os
from pathlib import Path

import pytest

from noetl.engine.output import Output
from noetl.tools.contract import Heard, error_of
from noetl.tools.python import Python, pool
from tests.tools.calling import are_soon_gone, call_of

PID = "import os; result = os.getpid()"
LEAKS = "import os, sys\nresult = [os.getcwd(), 'left' in globals(), os.environ.get('LEFT'), 'LEFT' in sys.path]"
LEAVE = "import os, sys\nleft = 1\nos.environ['LEFT'] = 'x'\nsys.path.append('LEFT')\nos.chdir('/')\nsys.stdout.close()"

HOLDING = "def main():\n    held = []\n    while True: held.append(open('/dev/null'))"


async def run(tool: Python, code: str, **options: object) -> Output:
    return await tool.run(call_of("python", {"code": code}, **options), Heard())  # type: ignore[arg-type]


async def pid(tool: Python, **options: object) -> int:
    found = (await run(tool, PID, **options)).data
    assert isinstance(found, int)
    return found


async def test_a_child_stays_warm_for_its_own_playbook_and_limits() -> None:
    tool = Python(os.environ)
    first = await pid(tool, playbook="a")
    again = await pid(tool, playbook="a")
    other = await pid(tool, playbook="b")
    limited = await pid(tool, playbook="a", open_files_max=64)
    await tool.close()
    assert first == again
    assert len({first, other, limited, os.getpid()}) == 4
    assert are_soon_gone(first, other, limited)


async def test_modules_stay_and_nothing_else_does() -> None:
    tool = Python(os.environ)
    before = (await run(tool, LEAKS)).data
    first = await pid(tool)
    await run(tool, LEAVE)
    heard = Heard()
    after = await tool.run(call_of("python", {"code": LEAKS + "\nprint('heard')"}), heard)
    assert after.data == before == [os.getcwd(), False, None, False]
    assert heard.texts["stdout"] == "heard\n"
    assert await pid(tool) == first
    await tool.close()


@pytest.mark.parametrize(
    ("leave", "found"),
    [
        ("signal.alarm(1000)", "signal.getitimer(signal.ITIMER_REAL)[0]"),
        ("signal.setitimer(signal.ITIMER_PROF, 1000)", "signal.getitimer(signal.ITIMER_PROF)[0]"),
        ("signal.signal(signal.SIGTERM, signal.SIG_IGN)", "str(signal.getsignal(signal.SIGTERM))"),
        ("signal.pthread_sigmask(signal.SIG_BLOCK, [15])", "len(signal.pthread_sigmask(signal.SIG_BLOCK, []))"),
        ("os.umask(0o123)", "[mask := os.umask(0), os.umask(mask)][0]"),
        ("gc.disable()", "gc.isenabled()"),
        ("sys.argv.append('left')", "sys.argv"),
        ("sys.settrace(lambda *_: None)", "str(sys.gettrace())"),
        ("sys.setprofile(lambda *_: None)", "str(sys.getprofile())"),
    ],
)
async def test_what_code_does_to_its_process_ends_with_its_run(leave: str, found: str) -> None:
    tool = Python(os.environ)
    look = f"import gc, os, signal, sys\nresult = [os.getpid(), {found}]"
    before = (await run(tool, look)).data
    assert (await run(tool, f"import gc, os, signal, sys\n{leave}\nresult = 'left'")).data == "left"
    after = (await run(tool, look)).data
    await tool.close()
    assert after == before


async def test_what_code_does_to_the_language_ends_with_its_run() -> None:
    tool = Python(os.environ)
    patches = "import builtins, sys\nbuiltins.len = lambda _: 42\nbuiltins.extra = 1\nsys.setrecursionlimit(60)\n"
    patched = [await run(tool, f"{patches}result = [len([]), extra]"), await run(tool, f"{patches}1 / 0")]
    after = await run(
        tool, "import sys\nresult = [len([]), 'extra' in dir(__builtins__), sys.getrecursionlimit() > 60]"
    )
    children = {await pid(tool), await pid(tool)}
    await tool.close()
    assert patched[0].data == [42, 1]
    assert "ZeroDivisionError" in error_of(patched[1]).message
    assert after.data == [0, False, True]
    assert len(children) == 1


@pytest.mark.parametrize("code", ["held = []\nwhile True: held.append(open('/dev/null'))", HOLDING])
async def test_code_that_holds_every_descriptor_is_told_so_with_its_line(code: str) -> None:
    tool = Python(os.environ)
    error = error_of(await run(tool, code, open_files_max=32))
    await tool.close()
    assert (error.kind, error.retryable) == ("exception", False)
    assert "OSError: [Errno 24] Too many open files" in error.message
    assert isinstance(error.details, dict)
    assert error.details["line"] >= 2


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import os; os._exit(3)", "the process ended by itself with exit code 3"),
        ("import ctypes; ctypes.string_at(0)", "the process was killed by SIGSEGV"),
        ("import os; os.kill(os.getpid(), 9)", "the process was killed by SIGKILL"),
        ("import sys; sys.exit(2)", "the code left by sys.exit(2)"),
        ("import os; os.closerange(3, 100)\nwhile True: pass", "the code closed the channel to its worker"),
        ("import os; os.closerange(3, 100)", "the code closed the channel to its worker"),
        (
            "import os\nfor fd in range(3, 20):\n    try: os.write(fd, b'\\0\\0\\0\\1x')\n    except OSError: pass",
            "else than",
        ),
    ],
)
async def test_a_child_that_dies_is_an_error_of_its_task_alone(code: str, message: str) -> None:
    tool = Python(os.environ)
    neighbour = asyncio.create_task(run(tool, "import time; time.sleep(0.3); result = 'well'"))
    error = error_of(await run(tool, code))
    assert (error.kind, error.retryable) == ("crash", True)
    assert message in error.message
    assert (await run(tool, "result = 1")).data == 1
    assert (await neighbour).data == "well"
    await tool.close()


async def test_memory_and_open_files_are_bounded() -> None:
    tool = Python(os.environ)
    memory = error_of(await run(tool, "x = bytearray(10**9)", memory_bytes_max=300_000_000))
    files = error_of(await run(tool, "held = [open('/dev/null') for _ in range(100)]", open_files_max=32))
    await tool.close()
    assert (memory.kind, memory.retryable) == ("crash", True)
    assert "memory_bytes_max" in memory.message
    assert (files.kind, "Too many open files" in files.message) == ("exception", True)


async def test_a_child_knows_nothing_of_our_environment_and_descriptors() -> None:
    secret = dict(os.environ) | {"NOETL_KEY": "s3cret", "AWS_SECRET": "s3cret", "PYTHONPATH": "/nowhere"}
    tool = Python(secret)
    with Path(__file__).open():
        code = "import os; result = [dict(os.environ), os.listdir('/proc/self/fd'), os.getsid(0) == os.getpid()]"
        output = await run(tool, code, attempt=2)
    await tool.close()
    assert isinstance(output.data, list)
    environment, descriptors, is_leader = output.data
    facts = {name for name in environment if name.startswith("NOETL_")}
    assert set(environment) - facts <= {"PATH", "HOME", "LANG", "TMPDIR", "LC_CTYPE"}
    assert (environment["NOETL_IDEMPOTENCY_KEY"], environment["NOETL_ATTEMPT"]) == ("execution-1.key-1", "2")
    assert "s3cret" not in str(environment)
    assert is_leader
    assert len(descriptors) == 7  # three streams, both ends of its channel, what ties it to us, and the listing itself


async def test_a_timeout_kills_the_child_and_all_it_started() -> None:
    tool, heard = Python(os.environ), Heard()
    code = "import os, subprocess, time\nprint(os.getpid(), subprocess.Popen(['sleep', '1000']).pid)\ntime.sleep(1000)"
    error = error_of(await tool.run(call_of("python", {"code": code}, timeout={"total": 5}), heard))
    await tool.close()
    assert error.message == "the code took longer than 5 s (`spec.timeout`) and was stopped"
    first, second = map(int, heard.texts["stdout"].split())
    assert are_soon_gone(first, second)


CLEANING = """
import signal, subprocess, sys
inner = "trap 'sleep 0.2; touch {file}; exit' TERM; echo ready; while true; do sleep 0.05; done"
{before}subprocess.Popen(["bash", "-c", inner]).wait()
"""


@pytest.mark.parametrize("before", ["", "signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))\n"])
async def test_what_the_code_started_may_clean_up_when_the_time_is_over(before: str, tmp_path: Path) -> None:
    tool, heard = Python(os.environ), Heard()
    code = CLEANING.format(before=before, file=tmp_path / "cleaned")
    error = error_of(await tool.run(call_of("python", {"code": code}, timeout=2), heard))
    await tool.close()
    assert (error.kind, heard.texts["stdout"]) == ("timeout", "ready\n")
    assert (tmp_path / "cleaned").exists()


async def test_a_cancelled_run_kills_its_child() -> None:
    tool = Python(os.environ)
    heard = Heard()
    call = call_of("python", {"code": "import os\nprint(os.getpid())\nwhile True: pass"})
    running = asyncio.create_task(tool.run(call, heard))
    while "\n" not in heard.texts["stdout"]:
        await asyncio.wait([running], timeout=0.05)
    running.cancel()
    await asyncio.wait([running])
    assert are_soon_gone(int(heard.texts["stdout"]))
    await tool.close()


@pytest.mark.parametrize(
    "code",
    [
        "import threading, time\nthreading.Thread(target=time.sleep, args=(1000,), daemon=True).start()",
        "import subprocess\nsubprocess.Popen(['sleep', '1000'])",
        "import os\nos.nice(1)",
        "import resource\nresource.setrlimit(resource.RLIMIT_CPU, (1000, 1000))",
    ],
)
async def test_a_run_that_leaves_what_cannot_be_taken_back_ends_its_child(code: str) -> None:
    tool = Python(os.environ)
    first = await pid(tool)
    assert (await run(tool, code + "\nresult = 'well'")).data == "well"
    assert are_soon_gone(first)
    await tool.close()


async def test_a_copy_that_the_code_forked_and_forgot_has_no_say() -> None:
    tool = Python(os.environ)
    output = await run(tool, "import os, time\nresult = 'parent' if os.fork() else time.sleep(0.2)")
    assert output.data == "parent"
    assert (await run(tool, "result = 2")).data == 2
    await tool.close()


async def test_children_are_bounded_in_number_and_in_runs() -> None:
    tool = Python(os.environ, idle_max=1, runs_max=2)
    first, second = await pid(tool, playbook="a"), await pid(tool, playbook="b")
    assert await pid(tool, playbook="a") != first
    assert await pid(tool, playbook="b") != second
    third = await pid(tool, playbook="c")
    assert [await pid(tool, playbook="c"), await pid(tool, playbook="c") == third] == [third, False]
    await tool.close()


async def test_large_data_goes_both_ways() -> None:
    tool = Python(os.environ)
    rows = [{"id": number, "name": "x" * 20} for number in range(50_000)]
    output = await tool.run(call_of("python", {"code": "def main(rows): return rows"}, {"rows": rows}), Heard())
    await tool.close()
    assert output.data == rows


async def test_a_result_beyond_the_bound_is_refused_by_the_child() -> None:
    child = pool.Child(pool.Home("p", "python3", 2**32, 64, 100), {"PATH": os.environ["PATH"]})
    request = b'{"code":"result = \'x\' * 101","file":"f","line":1,"folder":"","input":{},"facts":{}}'
    answer = await child.ask(request, Heard())
    await child.end()
    assert answer is not None
    assert b"budget_exceeded" in answer


def test_the_program_of_a_child_is_read_by_python_3_8() -> None:
    program = Path(pool.PROGRAM)
    for part in (program, program.with_name("results.py")):
        assert ast.parse(part.read_text("utf-8"), feature_version=(3, 8)).body
