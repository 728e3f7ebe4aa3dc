import json
from contextlib import chdir
from pathlib import Path

import pytest

from noetl.cli.init import TEMPLATES, project_name
from tests.cli.invoke import noetl


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
    assert len(list((folder / "playbooks").iterdir())) == len(TEMPLATES[template])


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_new_project_bears_its_name_and_no_gap_is_left(template: str, tmp_path: Path) -> None:
    noetl("init", str(tmp_path / "my demo"), "-t", template)
    files = tree(tmp_path / "my demo")
    assert [path for path, text in files.items() if "PROJECT" in text or "PLAYBOOK" in text] == []
    playbooks = [text for path, text in files.items() if path.startswith("playbooks/")]
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
    assert ran.err.endswith("next: noetl validate demo\n")


def test_without_a_folder_the_current_one_is_taken(tmp_path: Path) -> None:
    with chdir(tmp_path):
        assert noetl("init").code == 0
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
