"""What only a real process shows: exit codes, streams, terminals, signals, broken pipes."""

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from noetl import __version__
from tests.acceptance.process import PROGRAM, TIMEOUT_S, environment, noetl
from tests.cli.invoke import BROKEN, SOUND


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    path = tmp_path / "broken.yaml"
    path.write_text(BROKEN, "utf-8")
    return path


def on_a_terminal(*words: str, **changes: str) -> tuple[int, str]:
    """The exit code and what a terminal shows."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [PROGRAM, *words], stdin=theirs, stdout=theirs, stderr=theirs, env=environment(**changes)
    ) as ran:
        os.close(theirs)
        shown = _all_of(ours)
        ran.wait(TIMEOUT_S)
    os.close(ours)
    return ran.returncode, shown


def _all_of(terminal: int) -> str:
    parts: list[bytes] = []
    while True:
        try:
            part = os.read(terminal, 4096)
        except OSError:  # Linux reports the end of a terminal's output so
            part = b""
        if not part:
            return b"".join(parts).decode()
        parts.append(part)


def test_data_goes_to_one_stream_and_talk_to_the_other(broken: Path) -> None:
    ran = noetl("validate", str(broken))
    assert ran.returncode == 3
    assert "[NOE203]" in ran.stdout
    assert ran.stderr == "1 file, 1 error\n"


def test_standard_input_is_read() -> None:
    assert noetl("validate", "-", stdin=SOUND).returncode == 0
    assert noetl("validate", "-", stdin=BROKEN).returncode == 3


def test_a_mistake_in_the_command_leaves_with_2() -> None:
    assert noetl("validat").returncode == 2
    assert noetl("validate", "no.yaml").returncode == 2


def test_the_module_is_the_program() -> None:
    ran = subprocess.run([sys.executable, "-m", "noetl", "--version"], capture_output=True, text=True, check=True)
    assert ran.stdout == f"noetl {__version__}\n"


@pytest.mark.parametrize("module", ["noetl.server", "noetl.worker"])
def test_a_program_to_come_says_so(module: str) -> None:
    ran = subprocess.run([sys.executable, "-m", module], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "is planned" in ran.stderr


def test_a_terminal_has_colours_unless_it_or_the_person_says_no(broken: Path) -> None:
    code, shown = on_a_terminal("validate", str(broken))
    assert code == 3
    assert "\x1b[1;31merror:\x1b[0m" in shown
    assert "\x1b[" not in on_a_terminal("validate", str(broken), NO_COLOR="1")[1]
    assert "\x1b[" not in on_a_terminal("validate", str(broken), TERM="dumb")[1]
    assert "\x1b[" not in on_a_terminal("validate", str(broken), "--color=never")[1]


def test_a_terminal_that_lacks_a_letter_does_not_end_the_program() -> None:
    ran = subprocess.run(
        [PROGRAM, "--help"], capture_output=True, env=environment(PYTHONIOENCODING="ascii", PYTHONUTF8="0"), check=True
    )
    assert b"noetl VERB [ARGUMENT\\u2026]" in ran.stdout


def test_a_file_name_that_is_no_text_is_shown_with_a_sign_instead(tmp_path: Path) -> None:
    with open(os.fsencode(tmp_path) + b"/a\xff.yaml", "wb") as file:
        file.write(BROKEN.encode())
    ran = noetl("validate", "-o", "json", str(tmp_path))
    assert (ran.returncode, ran.stderr) == (3, "")
    assert "/a\ufffd.yaml" in ran.stdout


def test_a_reader_that_goes_away_ends_the_program_quietly(tmp_path: Path) -> None:
    for number in range(200):
        (tmp_path / f"{number}.yaml").write_text(BROKEN, "utf-8")
    with subprocess.Popen(
        [PROGRAM, "validate", str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    ) as ran:
        assert ran.stdout is not None
        assert ran.stderr is not None
        ran.stdout.readline()
        ran.stdout.close()
        said = ran.stderr.read()
        ran.wait(TIMEOUT_S)
    assert (ran.returncode, said) == (141, b"")


def test_ctrl_c_ends_the_program_quietly(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.yaml"
    os.mkfifo(pipe)
    command = [PROGRAM, "validate", str(pipe)]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as ran,
        pipe.open("wb"),  # waits until the program has opened it, and so is at work
    ):
        ran.send_signal(signal.SIGINT)
        out, err = ran.communicate(timeout=TIMEOUT_S)
    assert (ran.returncode, out, err) == (130, b"", b"")


def loaded_by(*words: str) -> set[str]:
    """The modules that are there after the program has run with these words."""
    code = f"import sys; from noetl.clictl import main; main({list(words)!r}); print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(ran.stdout.splitlines()[-1].split())


def test_help_loads_nothing_that_takes_time() -> None:
    assert loaded_by("--help") & {"argparse", "typing", "msgspec", "yaml", "json", "noetl.playbook"} == set()


def test_validate_loads_only_what_it_needs(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(SOUND, "utf-8")
    unneeded = {
        "argparse",
        "dataclasses",
        "difflib",
        "importlib.resources",
        "jinja2",
        "json",
        "tempfile",
        "urllib.parse",
    }
    assert loaded_by("validate", str(path)) & unneeded == set()
