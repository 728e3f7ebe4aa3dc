import json
import socket
import sys
from contextlib import chdir
from pathlib import Path

import pytest

from noetl.cli.init import TEMPLATES, project_name
from tests.cli.invoke import noetl
from tests.documents import blocks, commands, complaint

PROGRAMS = Path(sys.executable).parent
RESULTS = {"etl": '"loaded": 3', "api": "25 orders copied", "loop": '"highest": 31'}


def made(template: str, folder: Path) -> Path:
    assert noetl("init", str(folder), "--template", template).code == 0
    return folder


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def listen_elsewhere(folder: Path) -> None:
    """Several tests may run at once on one machine."""
    for path in folder.glob("playbooks/*.yaml"):
        path.write_text(path.read_text("utf-8").replace("port: 8733", f"port: {free_port()}"), "utf-8")


def tree(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in folder.rglob("*") if path.is_file()
    }


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_new_project_is_sound_under_strict_rules(template: str, tmp_path: Path) -> None:
    folder = tmp_path / "my demo"
    made = noetl("init", str(folder), "--template", template)
    assert (made.code, made.out) == (0, "")
    checked = noetl("validate", "--strict", str(folder))
    assert (checked.code, checked.out) == (0, "")
    assert set(TEMPLATES[template]) <= set(tree(folder))


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_new_project_runs_as_it_is_and_shows_a_result(template: str, tmp_path: Path) -> None:
    with chdir(made(template, tmp_path / "demo")):
        first = next(iter(TEMPLATES[template]))
        ran = noetl("run", first, "-q", *(["--set", f"port={free_port()}"] if template == "api" else []))
        assert (ran.code, ran.err) == (0, "")
        assert RESULTS[template] in ran.out
        assert noetl("status", "@latest").code == 0


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_new_project_runs_from_the_folder_around_it_too(template: str, tmp_path: Path) -> None:
    folder = made(template, tmp_path / "demo")
    with chdir(tmp_path):
        first = str(folder.relative_to(tmp_path) / next(iter(TEMPLATES[template])))
        ran = noetl("run", first, "-q", *(["--set", f"port={free_port()}"] if template == "api" else []))
        assert (ran.code, ran.err) == (0, "")
        assert RESULTS[template] in ran.out


def test_a_secret_of_a_new_project_is_for_its_owner_alone(tmp_path: Path) -> None:
    folder = made("api", tmp_path / "demo")
    assert (folder / "secrets/shop_token.txt").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("template", TEMPLATES)
def test_the_commands_that_a_new_project_shows_work(template: str, tmp_path: Path) -> None:
    folder = made(template, tmp_path / "demo")
    listen_elsewhere(folder)
    shown = [command for block in blocks((folder / "README.md").read_text("utf-8")) for command in commands(block)]
    assert {"run", "status", "validate"} <= {command.text.split()[1] for command in shown}
    complaints = [complaint(command, folder=folder, programs=PROGRAMS) for command in shown]
    assert [text for text in complaints if text] == []


def test_work_that_failed_is_no_success(tmp_path: Path) -> None:
    with chdir(made("etl", tmp_path / "etl")):
        ran = noetl("run", "playbooks/daily_load.yaml", "--set", "source=missing.csv")
        assert (ran.code, "missing.csv" in ran.err) == (1, True)
    with chdir(made("loop", tmp_path / "loop")):
        assert noetl("run", "playbooks/all_cities.yaml", "--set", 'cities=["Atlantis"]').code == 1


def test_a_pretended_shop_tells_of_a_taken_port(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, chdir(made("api", tmp_path / "api")):
        port = taken.getsockname()[1]
        ran = noetl("run", "playbooks/sync_orders.yaml", "--set", f"port={port}")
    assert ran.code == 1
    assert f"port {port} is taken; run again with --set port={port + 1}" in ran.err


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_new_project_bears_its_name_and_no_gap_is_left(template: str, tmp_path: Path) -> None:
    noetl("init", str(tmp_path / "my demo"), "-t", template)
    files = tree(tmp_path / "my demo")
    gaps = ("PROJECT", "PLAYBOOK", "TRY\n")
    assert [path for path, text in files.items() if any(gap in text for gap in gaps)] == []
    playbooks = [text for path, text in files.items() if path.endswith(".yaml")]
    assert all("\n  path: my_demo/" in text for text in playbooks)
    assert next(iter(TEMPLATES[template])) in files["README.md"]


def test_the_schema_is_where_editors_look_for_it(tmp_path: Path) -> None:
    noetl("init", str(tmp_path / "demo"))
    files = tree(tmp_path / "demo")
    (schema,) = json.loads(files[".vscode/settings.json"])["yaml.schemas"]
    assert json.loads(files[schema.removeprefix("./")])["$schema"].startswith("http://json-schema.org/")
    assert files["playbooks/daily_load.yaml"].startswith("# yaml-language-server: $schema=../noetl.schema.json\n")


def test_every_written_file_is_named(tmp_path: Path) -> None:
    with chdir(tmp_path):
        ran = noetl("init", "demo")
    named = [line.removeprefix("wrote demo/") for line in ran.err.splitlines() if line.startswith("wrote ")]
    assert sorted(named) == sorted(tree(tmp_path / "demo"))
    assert ran.err.endswith("next: cd demo && noetl run playbooks/daily_load.yaml\n")


def test_without_a_folder_the_current_one_is_taken(tmp_path: Path) -> None:
    with chdir(tmp_path):
        ran = noetl("init")
        assert ran.code == 0
        assert ran.err.endswith("next: noetl run playbooks/daily_load.yaml\n")
        assert noetl("validate").code == 0


def test_nothing_is_overwritten_and_nothing_is_written_beside(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine", "utf-8")
    (tmp_path / "playbooks").mkdir()
    (tmp_path / "playbooks/daily_load.yaml").symlink_to("nowhere")
    ran = noetl("init", str(tmp_path))
    assert ran.code == 2
    assert ran.err == (
        "noetl init: nothing was written; these files are already there:\n"
        f"  {tmp_path}/README.md\n"
        f"  {tmp_path}/playbooks/daily_load.yaml\n"
    )
    assert tree(tmp_path) == {"README.md": "mine"}


def test_a_file_in_the_place_of_a_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "demo").write_text("", "utf-8")
    (tmp_path / "below").mkdir()
    (tmp_path / "below/playbooks").write_text("", "utf-8")
    assert noetl("init", str(tmp_path / "demo")).err == f"noetl init: {tmp_path}/demo is a file; expected a folder\n"
    blocked = noetl("init", str(tmp_path / "below"))
    assert blocked.code == 2
    assert f"noetl init: cannot write {tmp_path}/below/playbooks" in blocked.err


@pytest.mark.parametrize(
    ("folder", "name"), [("/a/My Project", "my_project"), ("/x/データ", "demo"), ("/", "demo"), ("/a/b-2.0", "b_2_0")]
)
def test_a_project_is_named_after_its_folder(folder: str, name: str) -> None:
    assert project_name(folder) == name
