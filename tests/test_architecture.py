"""What no linter checks: bounds on size, empty names, blind handlers, traces of one machine."""

import ast
import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeGuard

import pytest

ROOT = Path(__file__).resolve().parent.parent
FUNCTION_LINES_MAX = 60
FILE_LINES_MAX = 500
SKIPS = {"skip", "skipif", "xfail", "importorskip"}
EMPTY_NAMES = {"utils", "util", "common", "helpers", "helper", "base", "manager", "misc"}

# Where a blind `except` is right, and why: one for each border that exceptions of all kinds come over. Only in a child
# are there several, since the code of an author may also break what tells of its exception.
BLIND_HANDLERS_ALLOWED: dict[str, str] = {
    "src/noetl/clictl.py": "the top of the program tells a bug without a traceback",
    "src/noetl/supply/outcome.py": "all that runs in loops: who asks for the outcome says what a bug costs, see below",
    "src/noetl/tools/plugin.py": "whatever a package raises while it is imported or makes its tool is its own trouble",
    "src/noetl/tools/python/child.py": "whatever an author's code raises is its answer",
}

# Who asks for the outcome of work, and what a bug in it costs.
OUTCOMES_ALLOWED: dict[str, str] = {
    "src/noetl/control_plane/transact.py": "the execution whose commands or commit met it is parked",
    "src/noetl/data_plane/run_step.py": "the task run fails, for a bug of its tool or of ours",
    "src/noetl/data_plane/worker.py": "the lease runs out",
    "src/noetl/supply/lasting.py": "the loop begins again, and the bug is told",
}

# Written in parts, so that this file does not find itself.
TRACES_OF_A_MACHINE = re.compile(
    "|".join(
        (
            r"(?<![\w.~-])/(?:wo" + r"rk|ro" + r"ot|ho" + r"me/\w+)/",
            r"\.\./sha" + "red",
            r"pypi" + r"\.org",
            r"pythonhosted" + r"\.org",
            r"npmjs" + r"\.(?:org|com)",
            r"deb\.debian" + r"\.org",
        )
    )
)


def tracked_files() -> list[Path]:
    """The files git knows or would add, so that caches and environments are left out."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return sorted(path for line in listed.splitlines() if (path := ROOT / line).is_file())


TRACKED = tracked_files()
PYTHON = [path for path in TRACKED if path.suffix == ".py"]
TESTS = [path for path in PYTHON if path.is_relative_to(ROOT / "tests")]
SOURCE = [path for path in PYTHON if path.is_relative_to(ROOT / "src")]


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def long_functions(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > FUNCTION_LINES_MAX:
                yield f"line {node.lineno}: {node.name} has {lines} lines"


def too_many_lines(text: str) -> Iterator[str]:
    lines = len(text.splitlines())
    if lines > FILE_LINES_MAX:
        yield f"{lines} lines, {FILE_LINES_MAX} at most"


def blind_handlers(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ExceptHandler) and _is_blind(node.type):
            yield f"line {node.lineno}: a blind except"


def _is_blind(caught: ast.expr | None) -> bool:
    names = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return any(name is None or ast.unparse(name) in {"Exception", "BaseException"} for name in names)


def asked_outcomes(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module == "noetl.supply.outcome":
            yield f"line {node.lineno}: asks for outcomes"


def unasserting_tests(text: str) -> Iterator[str]:
    """A test says what must hold in its own body: what a helper asserts is not seen by who reads the test."""
    for node in ast.walk(ast.parse(text)):
        if _is_test(node) and not any(map(_is_assertion, ast.walk(node))):
            yield f"line {node.lineno}: {node.name} asserts nothing"


def _is_test(node: ast.AST) -> TypeGuard[ast.FunctionDef | ast.AsyncFunctionDef]:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")


def skipped_tests(text: str) -> Iterator[str]:
    """A test that does not run everywhere says what holds elsewhere instead."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and node.attr in SKIPS and ast.unparse(node).startswith("pytest."):
            yield f"line {node.lineno}: {ast.unparse(node)}"


def _is_assertion(node: ast.AST) -> bool:
    expects = isinstance(node, ast.withitem) and ast.unparse(node.context_expr).startswith("pytest.raises(")
    return expects or isinstance(node, ast.Assert)


def traces_of_a_machine(text: str) -> Iterator[str]:
    for number, line in enumerate(text.splitlines(), 1):
        if found := TRACES_OF_A_MACHINE.search(line):
            yield f"line {number}: {found.group()}"


def findings(paths: Sequence[Path], look: Callable[[str], Iterator[str]]) -> list[str]:
    """What `look` says about each file, with the file's name before it."""
    return [
        f"{name_of(path)}: {finding}" for path in paths for finding in look(path.read_text("utf-8", errors="replace"))
    ]


def test_a_function_fits_on_a_screen() -> None:
    assert findings(PYTHON, long_functions) == []


def test_a_file_has_one_job_and_so_a_bounded_length() -> None:
    assert findings(PYTHON, too_many_lines) == []


def test_a_handler_names_what_it_catches() -> None:
    strict = [path for path in SOURCE if name_of(path) not in BLIND_HANDLERS_ALLOWED]
    assert findings(strict, blind_handlers) == []


def test_a_border_has_one_blind_handler() -> None:
    counts = {name_of(path): len(list(blind_handlers(path.read_text("utf-8")))) for path in SOURCE}
    assert [name for name, count in counts.items() if count > 1] == ["src/noetl/tools/python/child.py"]


def test_who_outlives_a_bug_is_known() -> None:
    assert {name_of(path) for path in SOURCE if list(asked_outcomes(path.read_text("utf-8")))} == set(OUTCOMES_ALLOWED)


def test_every_test_asserts_in_its_own_body() -> None:
    assert findings(TESTS, unasserting_tests) == []


def test_no_test_is_left_out() -> None:
    assert findings(TESTS, skipped_tests) == []


def test_a_file_is_named_for_what_it_holds() -> None:
    assert [name_of(path) for path in SOURCE if EMPTY_NAMES & {path.stem, *path.relative_to(ROOT).parts}] == []


def test_no_file_carries_a_trace_of_one_machine() -> None:
    assert findings(TRACKED, traces_of_a_machine) == []


def test_every_allowed_blind_handler_still_exists() -> None:
    used = {name_of(path) for path in SOURCE if list(blind_handlers(path.read_text("utf-8")))}
    assert used == set(BLIND_HANDLERS_ALLOWED)


def test_every_benchmark_with_a_quick_form_is_run_by_the_one_command() -> None:
    quick = {name_of(path) for path in PYTHON if path.parent.name == "benchmarks" and _has_quick_form(path)}
    listed = set(re.findall(r'^  "(\S+\.py)\b.*"$', (ROOT / "scripts/check").read_text("utf-8"), re.MULTILINE))
    assert quick <= listed
    assert all((ROOT / name).is_file() for name in listed)


def _has_quick_form(path: Path) -> bool:
    return '"--quick"' in path.read_text("utf-8")


def test_a_long_function_is_found() -> None:
    text = "def f():\n" + "    x = 1\n" * FUNCTION_LINES_MAX
    assert list(long_functions(text)) == ["line 1: f has 61 lines"]


@pytest.mark.parametrize("caught", ["", " Exception", " BaseException as e", " (ValueError, Exception)"])
def test_a_blind_handler_is_found(caught: str) -> None:
    assert list(blind_handlers(f"try:\n    f()\nexcept{caught}:\n    pass\n")) == ["line 3: a blind except"]


def test_a_handler_with_a_narrow_type_is_not_blind() -> None:
    assert list(blind_handlers("try:\n    f()\nexcept (ValueError, KeyError):\n    pass\n")) == []


@pytest.mark.parametrize("body", ["judge(1)", "with suppress(KeyError):\n        judge(1)"])
def test_a_test_without_an_assertion_is_found(body: str) -> None:
    assert list(unasserting_tests(f"def test_it():\n    {body}\n")) == ["line 1: test_it asserts nothing"]


@pytest.mark.parametrize("body", ["assert judge(1) == 2", "with pytest.raises(KeyError):\n        judge(1)"])
def test_a_test_with_an_assertion_is_left_alone(body: str) -> None:
    assert list(unasserting_tests(f"async def test_it():\n    {body}\n")) == []


@pytest.mark.parametrize("skip", ["pytest.mark.skipif(True)", "pytest.mark.xfail", "pytest.importorskip('x')"])
def test_a_test_that_may_be_left_out_is_found(skip: str) -> None:
    assert list(skipped_tests(f"first = 1\nskips = {skip}\n")) == [f"line 2: {skip.partition('(')[0]}"]


@pytest.mark.parametrize("trace", ["/ro" + "ot/x", "see ../sha" + "red/y", "https://py" + "pi.org/simple"])
def test_a_trace_of_a_machine_is_found(trace: str) -> None:
    assert len(list(traces_of_a_machine(f"first\n{trace}\n"))) == 1


@pytest.mark.parametrize("text", ["docs/work/plan.md", "a.root/b", "/workflow/0", "src/noetl/worker.py"])
def test_an_ordinary_path_is_not_a_trace(text: str) -> None:
    assert list(traces_of_a_machine(text)) == []


def test_a_long_file_is_found() -> None:
    assert list(too_many_lines("x = 1\n" * (FILE_LINES_MAX + 1))) == ["501 lines, 500 at most"]
