import pytest

from tests.cli.invoke import SOUND, noetl


@pytest.mark.parametrize(
    "words",
    [
        ["-o", "json", "-"],
        ["-ojson", "-"],
        ["--output", "json", "-"],
        ["--output=json", "-"],
        ["-", "--output=json"],
        ["--output=json", "--", "-"],
        ["-", "-o", "text", "-o", "json"],
    ],
)
def test_an_option_may_be_spelt_and_placed_in_every_usual_way(words: list[str]) -> None:
    ran = noetl("validate", *words, stdin=SOUND.encode())
    assert ran.code == 0
    assert ran.out.startswith("{")


def test_files_and_options_mix_in_any_order() -> None:
    ran = noetl("validate", "no-a.yaml", "--strict", "no-b.yaml", "-q", "no-c.yaml")
    assert [line.split(":")[1] for line in ran.err.splitlines()] == [
        " cannot read no-a.yaml",
        " cannot read no-b.yaml",
        " cannot read no-c.yaml",
    ]


def test_after_two_dashes_every_word_is_a_file() -> None:
    assert "cannot read --strict" in noetl("validate", "--", "--strict").err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["validate", "--strct"], 'noetl validate: unknown option "--strct"; did you mean "--strict"?'),
        (["validate", "-x"], 'noetl validate: unknown option "-x"'),
        (["validate", "--zzzzzzzz"], 'noetl validate: unknown option "--zzzzzzzz"'),
        (["validate", "-o"], 'option "-o" needs a value: text|json|sarif|github'),
        (["validate", "-o", "sarf"], 'is one of text, json, sarif, github; found "sarf"; did you mean "sarif"?'),
        (["validate", "--strict=yes"], 'option "--strict" takes no value, found "yes"'),
        (["graph"], "expected FILE: a playbook, or - for standard input"),
        (["graph", "a.yaml", "b.yaml"], 'unexpected argument "b.yaml"'),
        (["schema", "extra"], 'unexpected argument "extra"'),
        (["completion", "tcsh"], 'shell is one of bash, zsh, fish; found "tcsh"'),
        (["fix"], "expected FILES…"),
    ],
)
def test_a_mistake_in_the_command_says_what_was_expected_and_found(words: list[str], message: str) -> None:
    ran = noetl(*words)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert ran.err.endswith(f"  = see: noetl {words[0]} --help\n")


def test_a_shell_like_no_other_is_not_guessed() -> None:
    assert "did you mean" not in noetl("completion", "tcsh").err


def test_help_shows_operands_options_defaults_and_examples() -> None:
    text = noetl("validate", "--help").out
    assert "[FILES…]" in text
    assert "-o, --output text|json|sarif|github" in text
    assert "(default: text)" in text
    assert "\nexamples:\n" in text
