from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.invoke import BROKEN, SOUND, noetl


@pytest.mark.parametrize(
    ("words", "beginning"),
    [
        ([], "flowchart "),
        (["--format", "mermaid"], "flowchart "),
        (["--format", "dot"], "digraph"),
        (["--format=svg"], "<svg"),
    ],
)
def test_a_playbook_is_drawn_in_the_form_asked_for(words: list[str], beginning: str) -> None:
    ran = noetl("graph", "-", *words, stdin=SOUND.encode())
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(beginning)
    assert ran.out.endswith("\n")


@pytest.mark.parametrize(
    ("name", "beginning"),
    [("a.svg", "<svg"), ("a.dot", "digraph"), ("a.GV", "digraph"), ("a.mmd", "flowchart"), ("a", "flowchart")],
)
def test_the_ending_of_the_file_chooses_the_form(name: str, beginning: str, tmp_path: Path) -> None:
    target = tmp_path / name
    ran = noetl("graph", "-", "-O", str(target), stdin=SOUND.encode())
    assert (ran.code, ran.out) == (0, "")
    assert target.read_text("utf-8").startswith(beginning)


def test_the_form_asked_for_wins_over_the_ending(tmp_path: Path) -> None:
    target = tmp_path / "a.svg"
    noetl("graph", "-", "-O", str(target), "--format", "dot", stdin=SOUND.encode())
    assert target.read_text("utf-8").startswith("digraph")


def test_an_ending_without_a_form_is_refused_unless_the_form_is_named(tmp_path: Path) -> None:
    target = tmp_path / "a.png"
    ran = noetl("graph", "-", "-O", str(target), stdin=SOUND.encode())
    assert (ran.code, ran.out, target.exists()) == (2, "", False)
    assert ran.err == (
        f"noetl graph: {target}: expected an ending of .mmd, .mermaid, .dot, .gv, .svg, "
        'found ".png"; or name the form with --format\n'
    )
    assert noetl("graph", "-", "-O", str(target), "--format", "mermaid", stdin=SOUND.encode()).code == 0
    assert target.read_text("utf-8").startswith("flowchart")


def test_an_svg_is_well_formed() -> None:
    ran = noetl("graph", "-", "--format", "svg", stdin=SOUND.encode())
    assert ElementTree.fromstring(ran.out).tag.endswith("svg")


def test_a_playbook_with_errors_is_not_drawn() -> None:
    ran = noetl("graph", "-", stdin=BROKEN.encode())
    assert (ran.code, ran.out) == (3, "")
    assert "<stdin>:8:17: error:" in ran.err
    assert ran.err.endswith("no drawing: first mend the errors above\n")


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    target = tmp_path / "no" / "a.svg"
    ran = noetl("graph", "-", "-O", str(target), stdin=SOUND.encode())
    assert (ran.code, ran.err) == (2, f"noetl: cannot write {target}: no such file or directory\n")


def test_a_folder_or_a_missing_file_is_refused(tmp_path: Path) -> None:
    folder, missing = noetl("graph", str(tmp_path)), noetl("graph", "no.yaml")
    assert (folder.code, folder.err) == (2, f"noetl: cannot read {tmp_path}: is a directory\n")
    assert (missing.code, missing.err) == (2, "noetl: cannot read no.yaml: no such file or directory\n")
