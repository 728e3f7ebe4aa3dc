"""The frame around the engines, with an engine small enough to see through: every `old` becomes `new`."""

from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from noetl.cli.console import Console, Stopped
from noetl.cli.rewriting import Arguments, Rewriting, Rewritten, Words
from noetl.playbook.diagnostics import Diagnostic, Severity, Span
from tests.cli.invoke import Ran, Screen

WORDS = Words("renew", "renewed", "word", "could not be renewed")
HEAD = "kind: Playbook\n"


def renew(text: str) -> Rewritten:
    stuck = [Diagnostic("NOE999", Severity.ERROR, "stays", Span(1, 1, 1, 3))] if "stuck" in text else []
    return Rewritten(text.replace("old", "new"), text.count("old"), stuck, place=text, is_done=not stuck)


def run(
    *files: Path | str,
    stdin: bytes = b"",
    diff: bool = False,
    write: bool = False,
    check: bool = False,
    quiet: bool = False,
) -> Ran:
    out, err = Screen(is_terminal=False), Screen(is_terminal=False)
    console = Console(out, err, TextIOWrapper(BytesIO(stdin)), allows_colour=False)
    arguments = Arguments(files=tuple(map(str, files)), diff=diff, write=write, check=check, quiet=quiet)
    code = Rewriting(WORDS, renew, arguments, console).run()
    return Ran(code, out.printed(), err.printed().decode())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a.yaml"
    path.write_bytes((HEAD + "a: old\nb: old\n").encode())
    return path


def test_by_default_the_result_is_printed_and_nothing_is_written(path: Path) -> None:
    before = path.read_bytes()
    ran = run(path)
    assert (ran.code, ran.data) == (0, before.replace(b"old", b"new"))
    assert ran.err == "2 words renewed in 1 file\n"
    assert path.read_bytes() == before


@pytest.mark.parametrize("text", ["\ufeffa: old\r\nb: 1\r\n", "a: old\rb: 1", "a: old # ÅÄÖ\x85\n\n\n", "a: old\n\r\n"])
def test_everything_else_stays_to_the_byte(text: str, tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(text.encode())
    expected = text.replace("old", "new").encode()
    assert run(path).data == expected
    assert run("-", stdin=text.encode()).data == expected
    run(path, write=True)
    assert path.read_bytes() == expected


def test_with_diff_only_the_difference_is_printed(path: Path) -> None:
    before = path.read_bytes()
    ran = run(path, diff=True)
    assert ran.code == 0
    assert ran.out.splitlines()[2:] == [
        "@@ -1,3 +1,3 @@",
        " kind: Playbook",
        "-a: old",
        "-b: old",
        "+a: new",
        "+b: new",
    ]
    assert ran.err == "2 words would be renewed in 1 file\n"
    assert path.read_bytes() == before


def test_with_write_the_file_is_changed_and_a_second_run_changes_nothing(path: Path) -> None:
    first, second = run(path, write=True), run(path, write=True)
    assert (first.code, first.out, first.err) == (0, "", "2 words renewed in 1 file\n")
    assert path.read_text("utf-8") == HEAD + "a: new\nb: new\n"
    assert (second.code, second.err) == (0, "nothing to renew in 1 file\n")


def test_a_file_without_change_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"a: 1\n")
    number = path.stat().st_ino
    assert run(path, write=True).code == 0
    assert path.stat().st_ino == number


def test_check_names_what_would_change_and_leaves_with_3(path: Path) -> None:
    before = path.read_bytes()
    ran = run(path, check=True)
    assert (ran.code, ran.out, path.read_bytes()) == (3, f"{path}\n", before)
    path.write_bytes(b"a: new\n")
    assert run(path, check=True).code == 0


def test_check_and_diff_together_show_the_diff_and_leave_with_3(path: Path) -> None:
    ran = run(path, check=True, diff=True)
    assert ran.code == 3
    assert ran.out.startswith("--- a/")


def test_a_folder_is_rewritten_file_by_file(path: Path) -> None:
    (path.parent / "b.yaml").write_text(HEAD + "c: old\n", "utf-8")
    assert run(path.parent, write=True).err == "3 words renewed in 2 files\n"


def test_a_link_in_a_folder_is_told_and_the_other_files_are_rewritten(path: Path, tmp_path: Path) -> None:
    folder = tmp_path / "links"
    folder.mkdir()
    (folder / "a.yaml").symlink_to(path)
    (folder / "other.yaml").write_text(HEAD + "c: old\n", "utf-8")
    ran = run(folder, write=True)
    assert ran.code == 0
    assert ran.err == f"skipped, a link: {folder}/a.yaml; name {path} instead\n1 word renewed in 1 file\n"
    assert (folder / "a.yaml").is_symlink()
    assert "old" in path.read_text("utf-8")
    assert run(folder, check=True, quiet=True).err == ""


def test_a_link_beside_its_file_changes_nothing(path: Path) -> None:
    (path.parent / "0.yaml").symlink_to(path)
    ran = run(path.parent, write=True)
    assert (ran.code, ran.err) == (0, "2 words renewed in 1 file\n")
    assert path.read_text("utf-8") == HEAD + "a: new\nb: new\n"


def test_several_files_are_not_printed_one_after_the_other(path: Path) -> None:
    (path.parent / "b.yaml").write_text(HEAD, "utf-8")
    with pytest.raises(Stopped, match=r"2 files; say --diff to see the changes or --write to make them"):
        run(path.parent)


def test_standard_input_cannot_be_written(path: Path) -> None:
    with pytest.raises(Stopped, match="standard input cannot be written to"):
        run("-", path, write=True)


def test_check_and_write_exclude_each_other(path: Path) -> None:
    with pytest.raises(Stopped, match="say one of them"):
        run(path, check=True, write=True)


def test_what_could_not_be_done_is_told_and_the_rest_is_done(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"stuck: old\n")
    ran = run(path, write=True)
    assert ran.code == 3
    assert path.read_bytes() == b"stuck: new\n"
    assert ran.err == (
        f"{path}:1:1: error: stays [NOE999]\n    1 | stuck: old\n      | ^~\n"
        "1 word renewed in 1 file, 1 word could not be renewed, see above\n"
    )


def test_a_file_that_is_no_text_is_told_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"a: old\xff\n")
    ran = run(path, write=True)
    assert ran.code == 3
    assert "is not UTF-8 here" in ran.err
    assert path.read_bytes() == b"a: old\xff\n"


def test_a_missing_file_is_a_mistake_in_the_command(path: Path) -> None:
    ran = run(path, "no.yaml", write=True)
    assert ran.code == 2
    assert "cannot read no.yaml" in ran.err
    assert b"new" in path.read_bytes()


def test_quiet_leaves_out_the_summary(path: Path) -> None:
    assert run(path, quiet=True).err == ""
