import asyncio
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from noetl.engine.output import Output
from noetl.processes import GRACE_S
from noetl.tools.contract import Heard, error_of
from noetl.tools.script import Script
from tests.tools.calling import are_soon_gone, call_of


async def run(fields: Mapping[str, object], received: Mapping[str, object] | None = None, **options: object) -> Output:
    output, _ = await run_aloud(fields, received, **options)
    return output


async def run_aloud(
    fields: Mapping[str, object], received: Mapping[str, object] | None = None, **options: object
) -> tuple[Output, Heard]:
    heard = Heard()
    return await Script(os.environ).run(call_of("script", fields, received, **options), heard), heard  # type: ignore[arg-type]


# ------------------------------------------------------------------------------ what a script gets and gives


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a  b", "a  b"),
        ("$(touch x); `x`", "$(touch x); `x`"),
        ("ä\n\nb", "ä\n\nb"),
        (1.5, "1.5"),
        (True, "true"),
        (None, ""),
        ([1, {"a": None}], '[1,{"a":null}]'),
    ],
)
async def test_values_reach_a_script_as_variables_arguments_and_standard_input(value: object, text: str) -> None:
    for fields in (
        {"script": 'printf %s "$x"'},
        {"script": 'printf %s "$1"', "argv": [value, "more"]},
        {"script": "cat", "stdin": value},
    ):
        output = await run(fields, {"x": value})
        assert (output.data, output.error) == (text, None)


async def test_data_is_what_was_printed_without_the_last_line_end() -> None:
    output, heard = await run_aloud({"script": "echo a; echo b; echo c >&2"})
    assert output.data == "a\nb"
    assert output.blocks == {"process": {"exit_code": 0, "stdout": "a\nb\n", "stderr": "c\n"}}
    assert heard.texts == {"stdout": "a\nb\n", "stderr": "c\n"}


async def test_json_is_parsed_on_request() -> None:
    assert (await run({"script": "echo '{\"a\": [1, null]}'", "parse": "json"})).data == {"a": [1, None]}
    error = error_of(await run({"script": "echo no", "parse": "json"}))
    assert error.kind == "input"
    assert "it begins with 'no\\n'" in error.message


@pytest.mark.parametrize(
    ("fields", "data"),
    [
        ({"script": "echo $0 | grep -c bash; [[ a == a ]] && echo bash"}, "0\nbash"),
        ({"script": "#!/usr/bin/env python3\nprint(1 + 1)"}, "2"),
        ({"script": "import sys; print(sys.argv[1:])", "interpreter": "python3", "argv": ["a b"]}, "['a b']"),
        ({"script": "false\necho on", "interpreter": "sh"}, "on"),
        ({"script": "print('x')", "interpreter": "python3 -I"}, "x"),
    ],
)
async def test_any_interpreter_may_read_the_script(fields: Mapping[str, object], data: str) -> None:
    assert (await run(fields)).data == data


async def test_a_script_may_stand_in_a_file_beside_the_playbook(tmp_path: Path) -> None:
    (tmp_path / "load.sh").write_text("echo $1 in $(basename $PWD)\n")
    (tmp_path / "load.py").write_text("#!/usr/bin/env python3\nprint('python')\n")
    place = {"file": str(tmp_path / "playbook.yaml")}
    shell = call_of("script", {"file": "load.sh", "argv": ["x"], "cwd": str(tmp_path)}, **place)  # type: ignore[arg-type]
    other = call_of("script", {"file": "load.py"}, **place)  # type: ignore[arg-type]
    tool = Script(os.environ)
    assert (await tool.run(shell, Heard())).data == f"x in {tmp_path.name}"
    assert (await tool.run(other, Heard())).data == "python"


async def test_a_script_knows_its_task_and_nothing_of_our_environment() -> None:
    secret = dict(os.environ) | {"NOETL_KEY": "s3cret", "AWS_SECRET": "s3cret"}
    call = call_of("script", {"script": "env; ls /proc/self/fd | wc -l; ulimit -n; ulimit -c"}, open_files_max=64)
    output = await Script(secret).run(call, Heard())
    assert isinstance(output.data, str)
    lines = output.data.splitlines()
    names = {line.partition("=")[0] for line in lines if "=" in line and not line.startswith("NOETL_")}
    assert names <= {"PATH", "HOME", "LANG", "TMPDIR", "PWD", "SHLVL", "_", "OLDPWD"}
    assert "NOETL_IDEMPOTENCY_KEY=execution-1.key-1" in lines
    assert "s3cret" not in output.data
    assert lines[-3:] == ["5", "64", "0"]  # three streams, what ties it to us, and the listing itself


async def test_a_variable_of_the_author_replaces_one_of_ours() -> None:
    assert (await run({"script": "echo $HOME"}, {"HOME": "/elsewhere"})).data == "/elsewhere"


# ------------------------------------------------------------------------------ what goes wrong


async def test_an_exit_code_is_told_with_the_last_words_and_the_line_in_the_playbook() -> None:
    output, heard = await run_aloud(
        {"script": "echo a\nno_such_command\nexit 3\n"}, file="flows/etl.yaml", text_line=12
    )
    error = error_of(output)
    words = "flows/etl.yaml: line 13: no_such_command: command not found"
    assert (error.kind, error.retryable) == ("exit_code", False)
    assert error.message == f"the script left with exit code 3: {words}"
    assert output.blocks == {"process": {"exit_code": 3, "stdout": "a\n", "stderr": f"{words}\n"}}
    assert heard.texts["stderr"] == f"{words}\n"


@pytest.mark.parametrize(("line", "script"), [(0, "echo a\nno_such_command"), (12, f"#!{sys.executable}\n1 / 0")])
async def test_a_line_that_is_none_of_the_playbook_is_told_with_the_task(line: int, script: str) -> None:
    output = await run({"script": script}, file="flows/etl.yaml", text_line=line)
    block = output.blocks["process"]
    assert isinstance(block, dict)
    assert re.search("<task-1>.*line 2", block["stderr"])
    assert "etl.yaml" not in block["stderr"]


async def test_a_file_with_a_byte_order_mark_is_run_by_its_first_line_or_refused(tmp_path: Path) -> None:
    file = str(tmp_path / "etl.yaml")
    (tmp_path / "load").write_text(f"\ufeff#!{sys.executable}\nprint(7)\n", "utf-8")
    assert (await run({"file": "load"}, file=file)).data == "7"
    (tmp_path / "load.sh").write_bytes(b"\xef\xbb\xbfecho 7\n")
    error = error_of(await run({"file": "load.sh"}, file=file))
    assert error.kind == "input"
    assert error.message.startswith(f"`{tmp_path}/load.sh` begins with a byte order mark")
    assert error.message.endswith("; save it as UTF-8 without one")


async def test_a_script_that_is_killed_has_crashed() -> None:
    error = error_of(await run({"script": "kill -SEGV $$"}))
    assert (error.kind, error.retryable) == ("crash", True)
    assert error.message == "the process was killed by SIGSEGV"


async def test_a_script_that_prints_without_end_is_stopped() -> None:
    error = error_of(await run({"script": "yes"}, stdout_bytes_max=1_000_000))
    assert error.kind == "budget_exceeded"
    assert "more than 1000000 bytes" in error.message


async def test_only_the_end_of_what_was_printed_is_in_the_block() -> None:
    output = await run({"script": "printf 'x%.0s' {1..50000}; echo end; printf 'y%.0s' {1..50000} >&2; echo end >&2"})
    block = output.blocks["process"]
    assert isinstance(block, dict)
    assert isinstance(output.data, str)
    assert [len(output.data), len(block["stdout"]), len(block["stderr"])] == [50_003, 16_384, 16_384]
    assert (block["stdout"][-5:], block["stderr"][-5:]) == ("xend\n", "yend\n")


async def test_no_half_of_a_secret_is_left_where_the_block_is_cut() -> None:
    secret = "s3cret" * 10
    script = 'echo "$S$X"; echo "$S$X" >&2; exit 1'
    call = call_of("script", {"script": script}, {"S": secret, "X": "x" * 16_370})
    output = await Script(os.environ).run(msgspec.structs.replace(call, secrets=frozenset({secret})), Heard())
    block = output.blocks["process"]
    assert isinstance(block, dict)
    assert [block["stdout"], block["stderr"]] == ["***" + "x" * 16_370 + "\n"] * 2


async def test_no_half_of_a_secret_is_left_where_bad_json_is_shown() -> None:
    secret = "s3cret" * 10
    call = call_of("script", {"script": 'echo "$X$S"', "parse": "json"}, {"S": secret, "X": "x" * 180})
    output = await Script(os.environ).run(msgspec.structs.replace(call, secrets=frozenset({secret})), Heard())
    assert "x***" in error_of(output).message


async def test_a_long_last_line_is_cut_in_the_message() -> None:
    error = error_of(await run({"script": 'echo "$X!" >&2; exit 1'}, {"X": "x" * 5_000}))
    assert len(error.message) < 1_000
    assert error.message.endswith("x!")


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("true", "is empty"),
        ("echo", "is empty"),
        ("echo no", "is not JSON"),
        ("echo NaN", "is not JSON: it holds `NaN`"),
        ("printf '\"\\xff\"'", "is not JSON: a text in it is not UTF-8"),
    ],
)
async def test_what_was_printed_instead_of_json_is_said(script: str, found: str) -> None:
    error = error_of(await run({"script": script, "parse": "json"}))
    assert error.kind == "input"
    assert f"standard output must be JSON for `parse: json`, and {found}" in error.message


async def test_json_that_is_nested_too_deeply_is_said() -> None:
    error = error_of(await run({"script": "head -c 100000 /dev/zero | tr '\\0' '['", "parse": "json"}))
    assert (error.kind, error.message) == ("response", "standard output is JSON that is nested deeper than 100 levels")


@pytest.mark.parametrize(
    ("fields", "received", "message"),
    [
        ({"script": "x"}, {"x": "a" * 200_000}, "give it as `stdin`"),
        ({"script": "x", "argv": ["a" * 200_000]}, {}, "`argv` has"),
        ({"script": "x"}, {"a=b": "c"}, "the input `a=b` cannot be an environment variable"),
        ({"script": "x"}, {"content-type": "c"}, "the input `content-type` cannot be an environment variable"),
        ({"script": "x"}, {"größe": "c"}, "the input `größe` cannot be an environment variable"),
        ({"script": "x"}, {"x": "a\0b"}, "`x` has a NUL in it, which ends a variable or argument; give it as `stdin`"),
        ({"script": "x", "argv": ["a\0b"]}, {}, "`argv` has a NUL in it"),
        ({"script": "x"}, {"x": object()}, "the script cannot be started"),
        ({"script": "x", "argv": "a b"}, {}, "`argv` must be a list, and is text"),
        ({"script": "x", "cwd": "/no/such/folder"}, {}, "there is no such folder"),
        ({"script": "x", "interpreter": "no-such"}, {}, "there is no interpreter `no-such`"),
        ({"script": "x", "interpreter": "'"}, {}, "No closing quotation"),
        ({"file": "no-such.sh"}, {}, "`file` cannot be read"),
        ({}, {}, "a script task needs `script`, or `file`"),
    ],
)
async def test_what_cannot_be_given_to_a_script_is_refused(
    fields: Mapping[str, object], received: Mapping[str, object], message: str
) -> None:
    error = error_of(await run(fields, received))
    assert error.kind == "input"
    assert message in error.message


# ------------------------------------------------------------------------------ its end


@pytest.mark.parametrize("ending", ["& echo $!", "& echo $!; wait"])
async def test_nothing_of_a_script_outlives_it(ending: str) -> None:
    output, heard = await run_aloud({"script": f"sleep 1000 {ending}"}, timeout=5)
    assert (output.error is None) is ("wait" not in ending)
    assert are_soon_gone(int(heard.texts["stdout"]))


async def test_a_cancelled_script_is_killed_with_its_group() -> None:
    heard = Heard()
    call = call_of("script", {"script": "sleep 1000 & echo $!; echo $$; wait"})
    running = asyncio.create_task(Script(os.environ).run(call, heard))
    while heard.texts["stdout"].count("\n") < 2:
        await asyncio.wait([running], timeout=0.05)
    running.cancel()
    await asyncio.wait([running])
    assert are_soon_gone(*map(int, heard.texts["stdout"].split()))


async def test_a_script_whose_time_is_over_may_clean_up() -> None:
    output, heard = await run_aloud({"script": "trap 'echo cleaned; exit' TERM; sleep 1000 & wait"}, timeout=0.5)
    assert error_of(output).message == "the script took longer than 0.5 s (`spec.timeout`) and was stopped"
    assert heard.texts["stdout"] == "cleaned\n"


async def test_a_tool_that_is_closed_kills_what_has_a_grace() -> None:
    tool, heard = Script(os.environ), Heard()
    call = call_of("script", {"script": "trap '' TERM; echo $$; while true; do sleep 0.1; done"})
    running = asyncio.create_task(tool.run(call, heard))
    while "\n" not in heard.texts["stdout"]:
        await asyncio.wait([running], timeout=0.05)
    running.cancel()
    await asyncio.wait([running], timeout=0.05)
    await asyncio.wait_for(tool.close(), GRACE_S / 2)
    assert are_soon_gone(int(heard.texts["stdout"]))
    await asyncio.wait([running])
    assert running.cancelled()


async def test_the_file_made_of_a_script_is_gone_afterwards_and_its_folder_with_the_tool(tmp_path: Path) -> None:
    tool = Script({"PATH": os.environ["PATH"], "TMPDIR": str(tmp_path)})
    output = await tool.run(call_of("script", {"script": 'ls -l "$0" | cut -c 1-10; echo "$0"'}), Heard())
    assert isinstance(output.data, str)
    mode, file = output.data.split()
    assert mode.startswith("-rw-")
    (folder,) = tmp_path.iterdir()
    assert (Path(file).parent.parent, folder.stat().st_mode & 0o777) == (folder, 0o700)
    assert [each.name for each in folder.iterdir()] == [".noetl-lock"]
    await tool.close()
    assert list(tmp_path.iterdir()) == []
