"""Every example does what its page says: it is run by the program, against the API that comes with the examples."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from noetl.cli.files import ENDINGS
from tests.acceptance.process import environment, noetl

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "examples/README.md").read_text("utf-8")
NEEDS_A_DATABASE = {"examples/postgres_load.yaml"}
WEEK_S = 7 * 86_400

LABELS = [
    "Oslo, north (1 of 2)",
    "Bergen, north (2 of 2)",
    "Lima, south (1 of 3)",
    "Cusco, south (2 of 3)",
    "Quito, south (3 of 3)",
]
SALES = {"revenue": 5600, "best_day": 310, "answered": ["oslo", "lima", "cairo", "tokyo"], "asked": 5}
OFFERS = [{"flight": "NO 101", "hotel": "Alfama House"}, {"flight": "NO 101", "hotel": "Baixa Inn"}]
REFUSED = "order 0: http_status: GET {url}/orders/0 answered 400 Bad Request"

RUNS: list[tuple[str, object]] = [
    ("hello.yaml", "Hello, world!"),
    ("hello.yaml --set name=Ann", "Hello, Ann!"),
    ("python_transform.yaml", "Oslo"),
    ("large_result.yaml", "3000 readings up to 2999, summarised"),
    ("large_result.yaml --set count=5", "5 readings, kept as they are"),
    ("shell_script.yaml", "nothing to do"),
    ("nested_loops.yaml", LABELS),
    ("http_retry.yaml", "1 EUR is 1.0832 USD"),
    ("error_routing.yaml", "to: 1 Harbour Street, Bergen"),
    ("error_routing.yaml --set order_id=4712", "there is no order 4712"),
    ("error_routing.yaml --set order_id=0", {"sent": REFUSED}),
    ("pagination.yaml", "250 products written"),
    ("branches_and_repeats.yaml", "3 parts fetched"),
    ("branches_and_repeats.yaml --set report=weekly", "0 parts fetched"),
    ("parallel_reduce.yaml", SALES),
    ("fan_out_join.yaml", OFFERS),
    ("approval.yaml --set pause=1", {"paid": 1200}),
    ("approval.yaml --set amount=10", {"paid": 10}),
    ("workbook.yaml", {"Ann": "data", "Bob": "web", "Cleo": "data"}),
    ("sub_playbooks/child.yaml", 100),
    ("sub_playbooks/parent.yaml", 550),
]


class Ended(msgspec.Struct, frozen=True):
    status: str
    output: dict[str, object]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Where the examples' API answers, started as their page says, but on a free port."""
    words = [sys.executable, "examples/api.py", "0"]
    with subprocess.Popen(
        words, cwd=ROOT, env=environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    return tmp_path


def result(project: Path, url: str, *words: str) -> object:
    ran = noetl("run", *words, "--set", f"url={url}", "-o", "json", folder=project)
    assert ran.returncode == 0, ran.stderr
    found = msgspec.json.decode(ran.stdout, type=Ended)
    assert found.status == "completed"
    return found.output["data"]


def at(url: str, expected: object) -> object:
    return msgspec.json.decode(msgspec.json.encode(expected).replace(b"{url}", url.encode()))


@pytest.mark.parametrize(("command", "expected"), RUNS, ids=[command for command, _ in RUNS])
def test_an_example_gives_its_result(project: Path, url: str, command: str, expected: object) -> None:
    assert result(project, url, *f"examples/{command}".split()) == at(url, expected)


@pytest.mark.parametrize("command", [command for command, _ in RUNS])
def test_the_page_says_how_to_run_it(command: str) -> None:
    assert f"noetl run examples/{command}\n" in PAGE


def test_every_example_is_run_but_those_that_need_a_database() -> None:
    files = {str(path.relative_to(ROOT)) for path in (ROOT / "examples").rglob("*") if path.name.endswith(ENDINGS)}
    assert files == {f"examples/{command.split()[0]}" for command, _ in RUNS} | NEEDS_A_DATABASE


def test_the_retried_request_is_asked_three_times(project: Path, url: str) -> None:
    result(project, url, "examples/http_retry.yaml")
    lines = noetl("events", "@latest", "-o", "jsonl", folder=project).stdout.splitlines()
    events = [msgspec.json.decode(line) for line in lines]
    assert [event["entity_id"] for event in events if event["name"] == "task.done"] == [
        "get_rate#1.get/1",
        "get_rate#1.get/2",
        "get_rate#1.get/3",
        "show#1.format/1",
    ]


def test_pages_become_files(project: Path, url: str) -> None:
    result(project, url, "examples/pagination.yaml", "--set", "folder=kept")
    pages = [msgspec.json.decode(path.read_bytes()) for path in sorted((project / "kept").iterdir())]
    assert [len(page) for page in pages] == [100, 100, 50]
    assert [item["id"] for page in pages for item in page] == list(range(1, 251))


def test_old_files_are_counted(project: Path, url: str) -> None:
    old = project / "some folder" / "old's.log"
    old.parent.mkdir()
    old.touch()
    born = old.stat().st_mtime
    os.utime(old, (born, born - 2 * WEEK_S))
    words = ["examples/shell_script.yaml", "--set", f"folder={old.parent}"]
    assert result(project, url, *words) == "1 files could go"


def test_a_loop_of_which_nothing_succeeds_takes_the_other_arc(project: Path, url: str) -> None:
    words = ["examples/parallel_reduce.yaml", "--set", 'shops=["quito"]']
    assert result(project, url, *words) == "no shop answered"


def test_asking_again_after_a_sound_answer_is_not_told_as_a_failure(project: Path, url: str) -> None:
    ran = noetl("run", "examples/approval.yaml", "--set", f"url={url}", "--set", "pause=0.1", folder=project)
    assert "ask#1.get_answer/1 retries\n" in ran.stderr
    assert "failed" not in ran.stderr


def test_the_api_tells_of_a_port_that_is_taken(url: str) -> None:
    port = int(url.rpartition(":")[2])
    words = [sys.executable, "examples/api.py", str(port)]
    ran = subprocess.run(words, cwd=ROOT, env=environment(), text=True, capture_output=True, timeout=60, check=False)
    assert ran.returncode == 1
    assert ran.stderr.startswith(f"port {port} cannot be used: Address already in use\n")
    assert f"python3 examples/api.py {port + 1}" in ran.stderr
