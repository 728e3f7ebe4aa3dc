"""Which files belong to a project."""

import os
from pathlib import Path

from noetl.cli.compiling import Compiler
from noetl.cli.project import project_of
from tests.cli.invoke import SOUND


def write(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(SOUND, "utf-8")


def found(file: str, folder: Path, path: str = "demo") -> str | None:
    compilation = project_of(file, folder).find(path, Compiler())
    return compilation.source.name if compilation is not None else None


def test_a_file_that_is_not_below_the_current_folder_has_its_own_project(tmp_path: Path) -> None:
    write(tmp_path, "proj/flows/lib/demo.yaml", "here/demo.yaml")
    assert project_of("../proj/flows/parent.yaml", tmp_path / "here").folder == tmp_path / "proj/flows"
    assert found("../proj/flows/parent.yaml", tmp_path / "here") == str(tmp_path / "proj/flows/lib/demo.yaml")
    (tmp_path / "proj" / ".noetl").mkdir()
    assert project_of("../proj/flows/parent.yaml", tmp_path / "here").folder == tmp_path / "proj"


def test_a_project_reaches_to_the_current_folder_or_further(tmp_path: Path) -> None:
    write(tmp_path, "proj/flows/parent.yaml", "proj/lib/demo.yaml")
    (tmp_path / "proj" / "flows" / ".noetl").mkdir()
    assert project_of("flows/parent.yaml", tmp_path / "proj").folder == tmp_path / "proj"
    (tmp_path / ".noetl").mkdir()
    (tmp_path / "proj" / "flows" / ".noetl").rmdir()
    assert project_of("flows/parent.yaml", tmp_path / "proj").folder == tmp_path
    assert project_of("-", tmp_path / "proj").folder == tmp_path


def test_a_project_does_not_reach_up_to_what_another_user_put_there(tmp_path: Path) -> None:
    write(tmp_path, "proj/flows/parent.yaml")
    (tmp_path / ".noetl").mkdir()
    me = os.geteuid()
    assert project_of("flows/parent.yaml", tmp_path / "proj", me).folder == tmp_path
    assert project_of("flows/parent.yaml", tmp_path / "proj", me + 1).folder == tmp_path / "proj"


def test_the_file_that_the_path_spells_goes_first_then_what_is_nearer(tmp_path: Path) -> None:
    write(tmp_path, "flows/parent.yml", "flows/zz.yaml", "aa.yaml", "demo.yml")
    (tmp_path / "flows" / "parent.yml").write_text(SOUND.replace("path: demo", "path: parent"), "utf-8")
    assert found("flows/parent.yml", tmp_path) == "demo.yml"
    (tmp_path / "demo.yml").unlink()
    assert found("flows/parent.yml", tmp_path) == "flows/zz.yaml"
    (tmp_path / "flows" / "zz.yaml").unlink()
    assert found("flows/parent.yml", tmp_path) == "aa.yaml"


def test_a_playbook_with_errors_is_found_only_where_no_other_is(tmp_path: Path) -> None:
    write(tmp_path, "aa.yaml", "bb.yaml")
    (tmp_path / "aa.yaml").write_text(SOUND.replace("kind: noop", "kind: nop"), "utf-8")
    assert found("-", tmp_path) == "bb.yaml"
    (tmp_path / "bb.yaml").unlink()
    assert found("-", tmp_path) == "aa.yaml"
    assert found("-", tmp_path, "other") is None


def test_what_is_hidden_or_cannot_be_read_is_none_of_ours(tmp_path: Path) -> None:
    write(tmp_path, ".cache/demo.yaml", "venv/a.yaml")
    (tmp_path / "demo.yaml").symlink_to(tmp_path / "nowhere.yaml")
    assert found("-", tmp_path) is None


def test_rivals_are_the_other_files_of_a_path_that_are_as_near(tmp_path: Path) -> None:
    write(tmp_path, "flows/demo.yaml", "flows/old/demo.yaml", "copy/flows/demo.yaml")
    project, compiler = project_of("flows/parent.yaml", tmp_path), Compiler()
    taken = project.find("demo", compiler)
    assert taken is not None
    assert taken.source.name == "flows/demo.yaml"
    assert project.rivals(taken, "demo", compiler) == ["flows/old/demo.yaml"]


def test_a_file_that_a_playbook_names_is_the_nearest_upwards_and_else_would_be_beside_it(tmp_path: Path) -> None:
    write(tmp_path, "proj/flows/flow.yaml", "proj/secrets/key", "secrets/key", "secrets/other")
    below, above = project_of("flows/flow.yaml", tmp_path / "proj"), project_of("proj/flows/flow.yaml", tmp_path)
    for project in (below, above):
        assert project.locate("secrets/key") == tmp_path / "proj/secrets/key"
        assert project.locate("none") == tmp_path / "proj/flows/none"
        assert project.locate("/etc/key") == Path("/etc/key")
    assert below.locate("secrets/other") == tmp_path / "proj/flows/secrets/other"
    assert above.locate("secrets/other") == tmp_path / "secrets/other"
    write(tmp_path, "proj/flows/secrets/key")
    assert below.locate("secrets/key") == tmp_path / "proj/flows/secrets/key"
