from importlib import import_module
from pathlib import Path

import pytest

from noetl import __version__, clictl
from noetl.cli.console import Console
from noetl.cli.verbs import PLANNED, VERBS
from tests.cli.invoke import Screen, noetl

NAMES = [name for name, _, _ in VERBS]


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"], ["help"], ["--debug", "--help"]])
def test_help_lists_every_verb_with_a_line(words: list[str]) -> None:
    ran = noetl(*words)
    assert (ran.code, ran.err) == (0, "")
    assert [f"  {name:<11} {summary}" in ran.out for name, summary, _ in VERBS] == [True] * len(VERBS)


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_the_version_is_one_line(option: str) -> None:
    assert noetl(option).out == f"noetl {__version__}\n"


@pytest.mark.parametrize("name", NAMES)
def test_every_verb_has_help_that_begins_with_its_usage(name: str) -> None:
    ran = noetl(name, "--help")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"usage: noetl {name}")
    assert ran.out == noetl("help", name).out == noetl(name, "-h").out


@pytest.mark.parametrize(("name", "module"), [(name, module) for name, _, module in VERBS])
def test_the_module_of_a_verb_bears_its_name(name: str, module: str) -> None:
    assert import_module(module).COMMAND.name == name


def test_a_misspelt_verb_is_answered_with_the_right_one() -> None:
    ran = noetl("validat", "x.yaml")
    assert (ran.code, ran.out) == (2, "")
    assert 'there is no verb "validat"; did you mean "validate"?' in ran.err


@pytest.mark.parametrize(("misspelt", "right"), [("rum", "run"), ("urn", "run"), ("lgos", "logs")])
def test_a_short_verb_is_recognised_too(misspelt: str, right: str) -> None:
    assert f'there is no verb "{misspelt}"; did you mean "{right}"?' in noetl(misspelt).err


def test_a_verb_like_no_other_is_answered_with_the_list() -> None:
    ran = noetl("frobnicate")
    assert ran.code == 2
    assert "did you mean" not in ran.err
    assert f"the verbs are: {', '.join(NAMES)}" in ran.err


@pytest.mark.parametrize("verb", PLANNED)
def test_a_planned_verb_is_told_apart_from_a_misspelt_one(verb: str) -> None:
    ran = noetl(verb)
    assert ran.code == 2
    assert f'"{verb}" is planned' in ran.err


def test_options_for_all_verbs_may_stand_before_the_verb() -> None:
    coloured = noetl("--color", "always", "explain", "dangling-arc")
    assert coloured.code == 0
    assert "\x1b[" in coloured.out
    assert coloured.out == noetl("explain", "dangling-arc", "--color=always").out


def test_an_unknown_option_without_a_verb_is_refused() -> None:
    ran = noetl("--verbose")
    assert ran.code == 2
    assert 'unknown option "--verbose"; options stand after the verb' in ran.err


@pytest.mark.parametrize(("misspelt", "right"), [("--verison", "--version"), ("--hlep", "--help")])
def test_a_misspelt_option_without_a_verb_is_answered_with_the_right_one(misspelt: str, right: str) -> None:
    ran = noetl(misspelt)
    assert (ran.code, ran.out) == (2, "")
    assert f'unknown option "{misspelt}"; did you mean "{right}"?' in ran.err


class Unwritable:
    """Breaks in a way that no verb foresees."""

    def __str__(self) -> str:
        raise KeyError("lost")


def test_a_bug_is_told_in_two_lines_and_shown_in_full_with_debug() -> None:
    words = ["explain", Unwritable()]
    ran = noetl(*words)  # type: ignore[arg-type]
    assert ran.code == 70
    assert ran.err.startswith("noetl: a bug in NoETL, not in your playbook: AttributeError")
    assert "Traceback" not in ran.err
    with pytest.raises(AttributeError):
        noetl("--debug", *words)  # type: ignore[arg-type]


def test_what_went_wrong_is_told_though_the_data_before_it_is_lost() -> None:
    err = Screen(is_terminal=False)
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        console = Console(full, err, err, allows_colour=False)
        console.data("the first half")
        assert clictl.run(["validat"], console) == 2
    assert err.printed().startswith(b'noetl: there is no verb "validat"')
