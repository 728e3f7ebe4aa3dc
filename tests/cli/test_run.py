"""Words of `noetl run` that cannot be meant are refused before anything happens."""

from pathlib import Path

import pytest

from tests.cli.invoke import SOUND, noetl


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "expected a playbook to run, or --resume ID"),
        (("a.yaml", "--resume", "@latest"), "found both a.yaml and --resume @latest"),
        (("-", "--payload", "-"), "the playbook and the payload cannot both be -"),
        (("--resume", "0193", "--payload", ""), "a run that is resumed keeps its workload"),
        (("a.yaml", "--slots", "0"), '--slots takes a whole number from 1 to 1000; found "0"'),
    ],
)
def test_words_that_do_not_go_together_are_refused(words: tuple[str, ...], told: str) -> None:
    ran = noetl("run", *words)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err


@pytest.mark.parametrize("wrong", ["day.yml", "dya.yaml", "dayy.yaml"])
def test_a_file_that_is_not_there_is_answered_with_the_one_beside_it(tmp_path: Path, wrong: str) -> None:
    (tmp_path / "day.yaml").write_text(SOUND, "utf-8")
    (tmp_path / "other.yaml").write_text(SOUND, "utf-8")
    ran = noetl("run", str(tmp_path / wrong))
    assert ran.code == 2
    assert ran.err.endswith(f"no such file or directory; did you mean {tmp_path / 'day.yaml'}?\n")


def test_a_file_that_is_like_no_other_is_answered_without_a_guess(tmp_path: Path) -> None:
    (tmp_path / "day.yaml").write_text(SOUND, "utf-8")
    for wrong in (tmp_path / "night.yaml", tmp_path / "no" / "day.yaml"):
        assert noetl("run", str(wrong)).err.endswith("no such file or directory\n")


def test_a_folder_is_answered_with_its_playbooks(tmp_path: Path) -> None:
    assert noetl("run", str(tmp_path)).err == f"noetl: cannot read {tmp_path}: is a directory\n"
    for name in "abcd":
        (tmp_path / f"{name}.yaml").write_text(SOUND, "utf-8")
    shown = ", ".join(str(tmp_path / f"{name}.yaml") for name in "abc")
    assert noetl("run", str(tmp_path)).err.endswith(f"is a directory; name one playbook, such as {shown}, …\n")
