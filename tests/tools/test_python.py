import os
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from noetl.engine.output import Output
from noetl.tools.contract import Heard, error_of
from noetl.tools.python import Python
from tests.tools.calling import call_of

NO_TROUBLE = {"py": {"exception_type": None, "traceback": None}}


async def run(code: str, received: Mapping[str, object] | None = None, **options: object) -> Output:
    """One run in a tool of its own."""
    output, _ = await run_aloud(code, received, **options)
    return output


async def run_aloud(code: str, received: Mapping[str, object] | None = None, **options: object) -> tuple[Output, Heard]:
    tool, heard = Python(os.environ), Heard()
    try:
        return await tool.run(call_of("python", {"code": code}, received, **options), heard), heard  # type: ignore[arg-type]
    finally:
        await tool.close()


# ------------------------------------------------------------------------------ what the code gets and gives


@pytest.mark.parametrize(
    ("code", "data"),
    [
        ("result = x + 1", 2),
        ("def main(x): return x * 10", 10),
        ("def main(x, y): return [x, y]", [1, {"a": [None, True, "ä"]}]),
        ("def main(x, **rest): return rest", {"y": {"a": [None, True, "ä"]}}),
        ("def main(y, /, *, x=5, z=7): return [y['a'][2], x, z]", ["ä", 1, 7]),
        ("def main(): return 'none taken'", "none taken"),
        ("async def main(x): return x + 2", 3),
        ("import asyncio\nasync def main(x):\n    await asyncio.sleep(0)\n    return x", 1),
        ("def main(x): return x\nresult = main(41) + 1", 42),
        ("class Call:\n    def __call__(self, x): return x + 5\nmain = Call()", 6),
        ("y = 1", None),
        ("import sys\nresult = x\nsys.exit(0)\nresult = 2", 1),
        ("import sys\nresult = x\nsys.exit()", 1),
        ("import sys\ndef main(x): sys.exit(0)", None),
        ("", None),
        ("from dataclasses import dataclass\n@dataclass\nclass P:\n    x: 'int'\nresult = P(x)", {"x": 1}),
        ("result = [__name__ == '__main__', __file__]", [False, "<task-1>"]),
    ],
)
async def test_code_reads_its_input_as_variables_and_gives_its_result(code: str, data: object) -> None:
    output = await run(code, {"x": 1, "y": {"a": [None, True, "ä"]}})
    assert (output.data, output.error, output.blocks) == (data, None, NO_TROUBLE)


async def test_a_decorated_main_gets_what_the_function_under_it_takes() -> None:
    code = """
import functools
def loud(f):
    @functools.wraps(f)
    def inner(*args, **kwargs):
        return f(*args, **kwargs)
    return inner
@loud
def main(x):
    return x
"""
    assert (await run(code, {"x": 1, "y": 2})).data == 1


async def test_an_input_named_result_is_no_result() -> None:
    assert (await run("x = 1", {"result": 5})).data is None
    assert (await run("class Result:\n    result = 1\nx = [result for result in [5]]", {"result": 5})).data is None


@pytest.mark.parametrize(
    ("code", "given", "data"),
    [
        ("result = max(result, 1)", 5, 5),
        ("result.append(2); result = result", [5], [5, 2]),
        ("def keep():\n    global result\n    result = result\nkeep()", 5, 5),
        ("globals()['result'] = [5]", 5, [5]),
        ("import sys\nresult = result\nsys.exit(0)", 5, 5),
        ("result = result or 1\ndef main(): return 2", "x", "x"),
        ("def main(result): return result + 1", 5, 6),
    ],
)
async def test_an_input_named_result_that_the_code_sets_is_its_result(code: str, given: object, data: object) -> None:
    assert (await run(code, {"result": given})).data == data


async def test_a_main_that_needs_what_the_input_lacks_is_told_so() -> None:
    error = error_of(await run("def main(url, n=1): return url", {"uri": "x"}))
    assert error.kind == "input"
    assert error.message == "`main` needs `url`, and the input has `uri`; add `url` to `input`"


async def test_what_is_printed_reaches_the_console_by_stream() -> None:
    code = "import os, sys\nprint('ä 1')\nprint('2', file=sys.stderr)\nos.system('echo 3')\nsys.stdout.write('4')"
    _, heard = await run_aloud(code)
    assert heard.texts == {"stdout": "ä 1\n3\n4", "stderr": "2\n"}


async def test_a_flood_of_output_is_taken_without_a_stop() -> None:
    output, heard = await run_aloud("for _ in range(300): print('x' * 9999)\nresult = 'done'")
    assert output.data == "done"
    assert len(heard.texts["stdout"]) == 3_000_000


async def test_code_may_stand_in_a_file_beside_the_playbook_and_import_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "steps").mkdir()
    (tmp_path / "steps" / "neighbour.py").write_text("VALUE = 7\n")
    (tmp_path / "steps" / "load.py").write_text(
        "import neighbour\n\ndef main():\n    raise ValueError(neighbour.VALUE)\n"
    )
    tool = Python(os.environ)
    call = call_of("python", {"file": "steps/load.py"}, file=str(tmp_path / "playbook.yaml"))
    output = await tool.run(call, Heard())
    await tool.close()
    assert error_of(output).message == f"{tmp_path}/steps/load.py:4: ValueError: 7"


# ------------------------------------------------------------------------------ what goes wrong in it


async def test_a_traceback_points_into_the_playbook() -> None:
    code = "def deep(x):\n    return 1 / x\n\ndef main(x):\n    return deep(x)\n"
    output = await run(code, {"x": 0}, file="etl.yaml", text_line=12)
    error = error_of(output)
    assert (error.kind, error.retryable) == ("exception", False)
    assert error.message == "etl.yaml:13: ZeroDivisionError: division by zero"
    assert error.details == {"file": "etl.yaml", "line": 13}
    block = output.blocks["py"]
    assert isinstance(block, dict)
    assert block["exception_type"] == "ZeroDivisionError"
    lines = block["traceback"].splitlines()
    assert [line for line in lines if "~" not in line and "^" not in line] == [
        "Traceback (most recent call last):",
        '  File "etl.yaml", line 16, in main',
        "    return deep(x)",
        '  File "etl.yaml", line 13, in deep',
        "    return 1 / x",
        "ZeroDivisionError: division by zero",
    ]


async def test_a_traceback_is_printed_after_what_the_code_printed() -> None:
    output, heard = await run_aloud("print('before')\nraise KeyError('k')", file="etl.yaml", text_line=12)
    block = output.blocks["py"]
    assert isinstance(block, dict)
    assert heard.texts == {"stdout": "before\n", "stderr": block["traceback"]}
    assert "KeyError: 'k'" in heard.texts["stderr"]


async def test_a_mistake_in_the_syntax_has_its_line() -> None:
    output = await run("x = 1\ny = = 2\n", file="etl.yaml", text_line=30)
    assert error_of(output).message == "etl.yaml:31: SyntaxError: invalid syntax"


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("raise KeyError('k')", "KeyError: 'k'"),
        ("class Odd(Exception):\n    def __str__(self): raise TypeError\nraise Odd", "an exception without a text"),
        ("raise ValueError('x' * 10_000)", "…"),
        ("def f(): f()\nf()", "RecursionError"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("result = open('/dev/null')", "`result` is a TextIOWrapper, which JSON cannot hold"),
        ("result = {'rows': [{'price': float('nan')}]}", "`result.rows[0].price` is nan, which JSON cannot hold"),
        ("result = []\nresult.append(result)", "nested too deeply for JSON, or holds itself"),
        ("result = 'half \\ud800'", "`result` is text with half a character in it"),
        ("result = {(1, 2): 3}", "a key of `result` is a tuple"),
    ],
)
async def test_whatever_the_code_raises_is_told(code: str, message: str) -> None:
    error = error_of(await run(code))
    assert error.kind == "exception"
    assert message in error.message
    assert len(error.message) < 5_000


async def test_a_result_that_only_the_child_could_hold_is_an_error_of_the_task() -> None:
    code = "import json\nresult = 1\nfor _ in range({}): result = [result]"
    errors = [error_of(await run(code.format(levels))) for levels in (992, 100_000)]
    assert ["deep" in error.message for error in errors] == [True, True]
    assert not any(error.retryable for error in errors)


async def test_no_half_of_a_secret_is_left_where_an_exception_is_cut() -> None:
    secret = "s3cret" * 10
    call = call_of(
        "python", {"code": "raise ValueError('x' * 3_970 + s + 'y' * 100_000 + chr(10) + 'z')"}, {"s": secret}
    )
    tool = Python(os.environ)
    output = await tool.run(msgspec.structs.replace(call, secrets=frozenset({secret})), Heard())
    await tool.close()
    assert error_of(output).message.endswith("xxx…")
    block = output.blocks["py"]
    assert isinstance(block, dict)
    assert block["traceback"] == "z\n"


async def test_input_that_no_child_can_read_is_refused() -> None:
    error = error_of(await run("result = x", {"x": object()}))
    assert error.kind == "input"


# ------------------------------------------------------------------------------ which interpreter


async def test_an_interpreter_is_found_by_its_path_its_name_or_its_virtual_environment(tmp_path: Path) -> None:
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "python").symlink_to(sys.executable)
    home = Path(sys.executable)
    tool = Python({"PATH": str(home.parent)})
    code = {"code": "import sys; result = sys.executable"}
    found = [
        (await tool.run(call_of("python", code, file=str(tmp_path / "p.yaml"), python=wanted), Heard())).data
        for wanted in (str(home), home.name, ".venv")
    ]
    await tool.close()
    assert found == [str(home), str(home), str(tmp_path / ".venv/bin/python")]


@pytest.mark.parametrize(("named", "own"), [(True, None), (True, sys.executable), (False, None)])
async def test_the_environment_names_the_interpreter_for_tasks_that_name_none(
    tmp_path: Path, named: bool, own: str | None
) -> None:
    (tmp_path / "venv" / "bin").mkdir(parents=True)
    (tmp_path / "venv" / "bin" / "python").symlink_to(sys.executable)
    tool = Python({"NOETL_PYTHON": str(tmp_path / "venv")} if named else {})
    spec = {"python": own} if own is not None else {}
    output = await tool.run(call_of("python", {"code": "import sys; result = sys.executable"}, **spec), Heard())  # type: ignore[arg-type]
    await tool.close()
    assert output.data == (str(tmp_path / "venv/bin/python") if named and own is None else sys.executable)


async def test_a_missing_interpreter_of_the_environment_is_told_so() -> None:
    tool = Python({"NOETL_PYTHON": "/no/such/venv"})
    error = error_of(await tool.run(call_of("python", {"code": "x = 1"}), Heard()))
    await tool.close()
    assert error.kind == "input"
    assert error.message.startswith("`NOETL_PYTHON` is `/no/such/venv`, and there is no interpreter")


@pytest.mark.parametrize(
    ("says", "told"),
    [
        ("exit 1", "no Python"),
        ("echo Python 3.7; exit 1", "Python 3.7"),
        ("echo Python 2.7; exit 2", "Python 2.7"),
    ],
)
async def test_an_interpreter_that_cannot_run_the_code_is_told_so(tmp_path: Path, says: str, told: str) -> None:
    program = tmp_path / "old"
    program.write_text(f"#!/bin/sh\n{says}\n", "utf-8")
    program.chmod(0o755)
    error = error_of(await run("x = 1", python=str(program)))
    assert (error.kind, error.retryable) == ("input", False)
    assert error.message == f"{program} is {told}, and a python task needs Python 3.8 or newer"


async def test_an_interpreter_that_does_not_say_what_it_is_is_not_blamed(tmp_path: Path) -> None:
    program = tmp_path / "gone"
    program.write_text("#!/bin/sh\nrm $0\nexit 3\n", "utf-8")
    program.chmod(0o755)
    error = error_of(await run("x = 1", python=str(program)))
    assert (error.kind, error.message) == ("crash", "the process ended by itself with exit code 3")


async def test_a_missing_interpreter_is_told_with_where_it_was_looked_for(tmp_path: Path) -> None:
    error = error_of(await run("x = 1", file=str(tmp_path / "p.yaml"), python=".venv"))
    assert error.kind == "input"
    assert str(tmp_path) in error.message
