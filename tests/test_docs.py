"""The documentation tells the truth: its playbooks are valid and its commands do what the page shows."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.documents import Block, Command, blocks, commands, complaint, matches

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = Path(sys.executable).parent
SINGLE_PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "examples/README.md"]
PAGES = [*SINGLE_PAGES, *sorted((ROOT / "docs").rglob("*.md"))]
VALID, INVALID = "yaml", "yaml invalid"


def playbooks(page: Path, info: str) -> dict[str, str]:
    """The page's whole playbooks of one kind, by a file name that leads back to the line."""
    found = [block for block in blocks(page.read_text("utf-8")) if block.language == info]
    return {f"line-{block.line}.yaml": block.text for block in found if "apiVersion:" in block.text}


def write_files(page: Path, folder: Path) -> None:
    """The blocks of a page that have the name of a file."""
    for block in blocks(page.read_text("utf-8")):
        if block.file is not None:
            (folder / block.file).parent.mkdir(parents=True, exist_ok=True)
            (folder / block.file).write_text(block.text, "utf-8")


def validate(playbook: str) -> subprocess.CompletedProcess[str]:
    """Without a warning too: people copy what they see."""
    command = [str(PROGRAMS / "noetl"), "validate", "--strict", "-"]
    return subprocess.run(command, input=playbook, capture_output=True, text=True, timeout=60, check=False)


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_the_commands_of_a_page_do_what_it_shows(page: Path, tmp_path: Path) -> None:
    if (ROOT / "examples").is_dir():
        shutil.copytree(ROOT / "examples", tmp_path / "examples")
    write_files(page, tmp_path)
    shown = [command for block in blocks(page.read_text("utf-8")) for command in commands(block)]
    complaints = [complaint(command, folder=tmp_path, programs=PROGRAMS) for command in shown]
    assert [text for text in complaints if text] == []


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_the_playbooks_of_a_page_are_valid_and_clean(page: Path) -> None:
    outcomes = {name: validate(text) for name, text in playbooks(page, VALID).items()}
    assert {name: ran.stdout + ran.stderr for name, ran in outcomes.items() if ran.returncode} == {}


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_the_playbooks_shown_as_invalid_are_invalid(page: Path) -> None:
    codes = {name: validate(text).returncode for name, text in playbooks(page, INVALID).items()}
    assert codes == dict.fromkeys(codes, 3)


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_playbook_with_a_name_is_run_by_its_page(page: Path) -> None:
    found = list(blocks(page.read_text("utf-8")))
    typed = " ".join(command.text for block in found for command in commands(block))
    shown = " ".join(block.text for block in found if block.language == VALID)
    assert [block.file for block in found if block.file and not is_used(block.file, typed, shown)] == []


def is_used(file: str, typed: str, shown: str) -> bool:
    """A playbook is run, or called by another one; other files are read by them."""
    return f" {file}" in typed or f"path: {file.rpartition('.')[0]}" in shown or not file.endswith(".yaml")


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_link_to_a_file_leads_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text("utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_every_decision_is_in_the_index() -> None:
    index = (ROOT / "docs/adr/README.md").read_text("utf-8")
    assert [path.name for path in (ROOT / "docs/adr").glob("0*.md") if f"({path.name})" not in index] == []


# The convention itself, on pages made here and a program that stands in for `noetl`.

PAGE = """\
# A page

```console
$ git clone somewhere
Cloning...
$ noetl validate a.yaml \\
    --strict
a.yaml:1:1: error
…
1 error
# exit 3
$ noetl init demo
```

```yaml
apiVersion: noetl.io/v2
```

- In a list:

  ```bash
  cd demo
  noetl validate .
  noetl validate broken.yaml
  # exit 3
  ```

```text
noetl run later
```
"""


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder with a `noetl` that prints its arguments, one a line, and leaves with the first."""
    program = tmp_path / "bin" / "noetl"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\nexit "$1"\n', "utf-8")
    program.chmod(0o755)
    return program.parent


def test_only_noetl_commands_are_taken_from_a_page() -> None:
    found = [command for block in blocks(PAGE) for command in commands(block)]
    assert found == [
        Command(6, "noetl validate a.yaml \\\n    --strict", 3, ("a.yaml:1:1: error", "…", "1 error")),
        Command(12, "noetl init demo"),
        Command(23, "noetl validate ."),
        Command(24, "noetl validate broken.yaml", 3),
    ]


def test_a_block_knows_its_line_and_loses_the_indent_of_its_fence() -> None:
    assert [(block.info, block.line) for block in blocks(PAGE)] == [
        ("console", 4),
        ("yaml", 16),
        ("bash", 22),
        ("text", 29),
    ]
    assert list(blocks("  ```yaml\n  a:\n    b: 1\n\n  ```\n")) == [Block("yaml", 2, "a:\n  b: 1\n\n")]


def test_a_block_may_have_the_name_of_a_file() -> None:
    named = [Block(info, 1, "") for info in ("yaml", "yaml invalid", "yaml flows/a.yaml", "python shop.py")]
    assert [(block.language, block.file) for block in named] == [
        ("yaml", None),
        ("yaml invalid", None),
        ("yaml", "flows/a.yaml"),
        ("python", "shop.py"),
    ]


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        (["a", "b"], ["a", "b", ""]),
        (["…"], []),
        (["…"], ["a"]),
        (["a", "…"], ["a", "b", "c"]),
        (["…", "c"], ["a", "b", "c"]),
        (["a", "…", "c", "…", "e"], ["a", "b", "c", "d", "e"]),
        (["a", "…", "b", "c", "…", "e"], ["a", "b", "b", "c", "e"]),
    ],
)
def test_an_ellipsis_stands_for_any_lines(shown: list[str], printed: list[str]) -> None:
    assert matches(shown, printed)


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        (["a"], ["b"]),
        (["a"], ["a", "b"]),
        (["a", "b"], ["a"]),
        (["a", "…", "c"], ["a", "b"]),
        (["a", "…", "a"], ["a"]),
        (["a", "…", "d", "…", "c"], ["a", "b", "c"]),
        (["…", "c", "…", "b", "…"], ["a", "b", "c"]),
    ],
)
def test_other_output_does_not_match(shown: list[str], printed: list[str]) -> None:
    assert not matches(shown, printed)


@pytest.mark.parametrize(
    "command",
    [
        Command(1, "noetl 0"),
        Command(1, "noetl 3 validate", 3, ("3", "validate")),
        Command(1, "noetl 0 > file && cat file", 0, ("0",)),
    ],
)
def test_a_command_that_does_what_the_page_shows_passes(command: Command, tmp_path: Path, programs: Path) -> None:
    assert complaint(command, folder=tmp_path, programs=programs) is None


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (Command(7, "noetl 3"), "line 7: noetl 3\nexpected exit 0\nfound exit 3; it printed:\n3\n"),
        (Command(7, "noetl 0 b", 3), "expected exit 3\nfound exit 0"),
        (
            Command(7, "noetl 0 b", 0, ("0", "c")),
            "expected this output:\n0\nc\nfound another; it printed:\n0\nb",
        ),
    ],
)
def test_a_command_that_does_otherwise_is_reported(
    command: Command, expected: str, tmp_path: Path, programs: Path
) -> None:
    assert expected in (complaint(command, folder=tmp_path, programs=programs) or "")
