import os
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path

import pytest

from noetl.cli.files import looks_like_playbook
from noetl.playbook.source.encoding import FILE_BYTES_MAX
from tests.cli.invoke import BROKEN, SOUND, noetl


def write(folder: Path, *names: str, text: str = SOUND) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def places(printed: str) -> list[str]:
    return [line.split(":")[0] for line in printed.splitlines() if "[NOE" in line]


def test_a_folder_means_the_playbooks_below_it_in_a_stable_order(tmp_path: Path) -> None:
    write(tmp_path, "b.yaml", "a.yml", "z/c.YAML", "m/d.yaml", text=BROKEN)
    with chdir(tmp_path):
        assert places(noetl("validate").out) == ["a.yml", "b.yaml", "m/d.yaml", "z/c.YAML"]
        assert places(noetl("validate", "z", "m").out) == ["z/c.YAML", "m/d.yaml"]


def test_hidden_and_foreign_folders_are_left_out(tmp_path: Path) -> None:
    hidden = [".git/a.yaml", ".venv/a.yaml", "node_modules/a.yaml", "venv/a.yaml", "x/.cache/a.yaml", ".a.yaml"]
    write(tmp_path, *hidden, text=BROKEN)
    write(tmp_path, "ok.yaml")
    ran = noetl("validate", str(tmp_path))
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.startswith("1 file, no problems")


def test_other_yaml_files_are_skipped_with_a_note(tmp_path: Path) -> None:
    write(tmp_path, "ok.yaml")
    write(tmp_path, "a.yaml", "b.yaml", "c.yaml", "d.yaml", text="services: {}\n")
    with chdir(tmp_path):
        ran = noetl("validate")
        quiet = noetl("validate", "--quiet")
    assert ran.code == 0
    assert ran.err.startswith("skipped, not a playbook: a.yaml, b.yaml, c.yaml and 1 more\n1 file")
    assert quiet.err == ""


def test_a_file_named_outright_is_checked_whatever_it_holds(tmp_path: Path) -> None:
    write(tmp_path, "a.yaml", text="services: {}\n")
    assert noetl("validate", str(tmp_path / "a.yaml")).code == 3


def test_a_file_named_twice_is_checked_once(tmp_path: Path) -> None:
    write(tmp_path, "a.yaml", text=BROKEN)
    ran = noetl("validate", str(tmp_path), str(tmp_path / "a.yaml"), str(tmp_path))
    assert len(places(ran.out)) == 1


def test_a_folder_without_playbooks_is_a_mistake_in_the_command(tmp_path: Path) -> None:
    ran = noetl("validate", str(tmp_path))
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"noetl: no playbook in {tmp_path}: expected .yaml or .yml files with `kind: Playbook`\n"


def test_a_missing_file_is_told_and_the_others_are_checked(tmp_path: Path) -> None:
    write(tmp_path, "a.yaml", text=BROKEN)
    ran = noetl("validate", str(tmp_path / "no.yaml"), str(tmp_path / "a.yaml"))
    assert ran.code == 2
    assert f"noetl: cannot read {tmp_path}/no.yaml: no such file or directory" in ran.err
    assert len(places(ran.out)) == 1


def test_a_path_through_a_file_is_told(tmp_path: Path) -> None:
    write(tmp_path, "a.yaml")
    ran = noetl("validate", str(tmp_path / "a.yaml/b.yaml"))
    assert (ran.code, ran.err) == (2, f"noetl: cannot read {tmp_path}/a.yaml/b.yaml: not a directory\n")


def test_a_file_without_permission_is_told(tmp_path: Path) -> None:
    write(tmp_path, "a.yaml")
    assert noetl("validate", str(tmp_path / "a.yaml")).code == 0
    (tmp_path / "a.yaml").chmod(0)
    with _unprivileged():
        ran = noetl("validate", str(tmp_path / "a.yaml"))
    assert (ran.code, ran.err) == (2, f"noetl: cannot read {tmp_path}/a.yaml: permission denied\n")


@contextmanager
def _unprivileged() -> Iterator[None]:
    """The superuser may read everything, so it steps down for a moment."""
    before = os.geteuid()
    os.seteuid(65534 if before == 0 else before)
    try:
        yield
    finally:
        os.seteuid(before)


def test_a_link_to_nowhere_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").symlink_to(tmp_path / "gone.yaml")
    ran = noetl("validate", str(tmp_path))
    assert ran.code == 2
    assert "a.yaml: no such file or directory" in ran.err


def test_a_file_is_known_by_its_own_name_and_not_by_a_link_to_it(tmp_path: Path) -> None:
    write(tmp_path, "real/z.yaml", text=BROKEN)
    (tmp_path / "a.yaml").symlink_to(tmp_path / "real/z.yaml")
    (tmp_path / "links").mkdir()
    (tmp_path / "links/b.yaml").symlink_to(tmp_path / "real/z.yaml")
    with chdir(tmp_path):
        assert places(noetl("validate").out) == ["real/z.yaml"]
        assert places(noetl("validate", "links", "real").out) == ["real/z.yaml"]
        assert places(noetl("validate", "links").out) == ["links/b.yaml"]


def test_a_pipe_in_a_folder_does_not_keep_us_waiting(tmp_path: Path) -> None:
    write(tmp_path, "ok.yaml")
    os.mkfifo(tmp_path / "pipe.yaml")
    assert noetl("validate", str(tmp_path)).code == 0


def test_a_huge_file_is_read_no_further_than_needed(tmp_path: Path) -> None:
    path = tmp_path / "huge.yaml"
    with path.open("wb") as file:
        file.truncate(FILE_BYTES_MAX * 20)
    ran = noetl("validate", str(path))
    assert ran.code == 3
    assert "a playbook has at most" in ran.out


def test_standard_input_is_named_as_such() -> None:
    ran = noetl("validate", "-", stdin=BROKEN.encode())
    assert ran.code == 3
    assert ran.out.startswith("<stdin>:8:17: error: ")


@pytest.mark.parametrize(
    "text",
    [
        "kind: Playbook\n",
        "a: 1\nkind: Playbook\n",
        "a: 1\r\nkind: 'Playbook'\r\n",
        "a: 1\rkind: Playbook\r",
        '"kind": "Playbook"\n',
        "kind : playbook\n",
        "\ufeffkind: Playbook\n",
        "apiVersion: noetl.io/v10\n",
        "workflow: [\nkind: Playbook",
        '{\n  "metadata": {},\n  "kind": "Playbook"\n}',
    ],
)
def test_a_playbook_is_known_by_the_words_at_its_root(text: str) -> None:
    assert looks_like_playbook(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "kind: Deployment\n",
        "spec:\n  kind: Playbook\n",
        "# kind: Playbook\n",
        "apiVersion: apps/v1\n",
        "kind: Playbooks\n",
    ],
)
def test_other_yaml_is_not_taken_for_a_playbook(text: str) -> None:
    assert not looks_like_playbook(text.encode())
