"""The type checker refuses a decision that writes, and an event that `evolve` does not know."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ENGINE = ROOT / "src/noetl/engine"

WRITES = """\
from noetl.engine.view import StateView


def decide(state: StateView) -> None:
    state.status = "completed"
    state.runs["a"].loop = None
    state.ctx["x"] = 1
    state.waiting.clear()
    state.runs.pop("a")
    loop = state.runs["b"].loop
    if loop is not None:
        loop.next = 1
        loop.live[0].is_parked = True
        loop.ended.add(0, loop.ended.whole, {})
        loop.ended.whole.clash = None
    cursor = state.runs["b"].cursor
    if cursor is not None:
        cursor.task_runs = 0


def read(state: StateView) -> str:
    return state.status
"""


def checked(text: str, folder: Path) -> list[tuple[int, str]]:
    """The lines that mypy refuses, and why."""
    file = folder / "example.py"
    file.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), "--no-error-summary"]
    command += ["--cache-dir", str(ROOT / ".mypy_cache"), str(file)]
    environment = os.environ | {"MYPYPATH": str(ROOT / "src")}
    answer = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    lines = [line.removeprefix(f"{file}:").partition(": error: ") for line in answer.stdout.splitlines()]
    return [(int(number), why) for number, _, why in lines if number.isdecimal()]


@pytest.mark.serial
def test_the_type_checker_refuses_a_decision_that_writes(tmp_path: Path) -> None:
    refused = checked(WRITES, tmp_path)
    assert sorted({line for line, _ in refused}) == [5, 6, 7, 8, 9, 12, 13, 14, 15, 18]


@pytest.mark.serial
def test_the_type_checker_refuses_a_decide_that_writes(tmp_path: Path) -> None:
    text = ENGINE.joinpath("decide.py").read_text(encoding="utf-8")
    first = "    if isinstance(command, RequestExecution):\n"
    assert text.count(first) == 1
    ((line, why),) = checked(text.replace(first, f'    state.status = "completed"\n{first}'), tmp_path)
    assert text.splitlines()[line - 1] == first.rstrip()
    assert "read-only" in why


@pytest.mark.serial
def test_the_type_checker_refuses_an_evolve_that_misses_an_event(tmp_path: Path) -> None:
    text = ENGINE.joinpath("evolve.py").read_text(encoding="utf-8")
    arm = "        case e.StepSkipped():\n            return _skipped(state, fact)\n"
    assert text.count(arm) == 1
    ((_, why),) = checked(text.replace(arm, ""), tmp_path)
    assert "assert_never" in why
    assert "StepSkipped" in why
