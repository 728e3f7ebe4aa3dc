from pathlib import Path

import pytest

from noetl.playbook.compile import compile_playbook
from noetl.playbook.diagnostics import Severity
from tests.cli.invoke import BROKEN, SOUND, noetl

EXAMPLES = Path(__file__).parents[2] / "examples"

# A v10 document: accepted, with warnings.
OLDER = SOUND.replace("noetl.io/v2", "noetl.io/v10")


def count(text: str, severity: Severity) -> int:
    return [found.severity for found in compile_playbook(text, "x").diagnostics].count(severity)


def test_a_sound_playbook_leaves_with_0_and_prints_no_data() -> None:
    ran = noetl("validate", "-", stdin=SOUND.encode())
    assert (ran.code, ran.out, ran.err) == (0, "", "1 file, no problems\n")


def test_a_mistake_is_shown_with_its_place_its_line_a_caret_and_its_code(tmp_path: Path) -> None:
    path = tmp_path / "demo.yaml"
    path.write_text(BROKEN, "utf-8")
    ran = noetl("validate", str(path))
    assert ran.code == 3
    assert ran.out == (
        f'{path}:8:17: error: step "start" has an arc to "colect", which is not a step; '
        'did you mean "collect"? [NOE203]\n'
        "    8 |         - step: colect\n"
        "      |                 ^~~~~~\n"
    )
    assert ran.err == "1 file, 1 error\n"


def test_of_another_encoding_no_line_is_shown() -> None:
    ran = noetl("validate", "-", stdin=SOUND.encode("utf-16"))
    assert ran.code == 3
    assert ran.out == (
        "<stdin>:1:1: error: the file is encoded in UTF-16; expected UTF-8 [NOE001]\n      = save the file as UTF-8\n"
    )


def test_warnings_leave_with_0_unless_strict() -> None:
    warnings = count(OLDER, Severity.WARNING)
    assert warnings
    lax = noetl("validate", "-", stdin=OLDER.encode())
    strict = noetl("validate", "--strict", "-", stdin=OLDER.encode())
    assert (lax.code, strict.code) == (0, 3)
    assert (lax.out.count("warning:"), lax.out.count("error:")) == (warnings, 0)
    assert (strict.out.count("warning:"), strict.out.count("error:")) == (0, warnings)


def test_quiet_prints_the_problems_and_nothing_else() -> None:
    ran = noetl("validate", "-q", "-", stdin=BROKEN.encode())
    assert (ran.code, ran.err) == (3, "")
    assert "[NOE203]" in ran.out


NOTED = SOUND.replace("kind: noop }", "kind: noop, spec: { tracing: { sample: 1 } } }")


def test_notes_are_counted_but_shown_only_when_asked_for() -> None:
    assert count(NOTED, Severity.INFO) == 1
    hidden = noetl("validate", "-", stdin=NOTED.encode())
    shown = noetl("validate", "--info", "-", stdin=NOTED.encode())
    assert (hidden.code, hidden.out, hidden.err) == (0, "", "1 file, no problems, 1 note (show them with --info)\n")
    assert shown.out.count("info:") == 1
    assert shown.err == "1 file, no problems, 1 note\n"


def test_colour_is_for_terminals_that_allow_it() -> None:
    def has_colour(*words: str, is_terminal: bool = False, allows_colour: bool = True) -> bool:
        ran = noetl(
            "validate", "-", *words, stdin=BROKEN.encode(), is_terminal=is_terminal, allows_colour=allows_colour
        )
        return "\x1b[" in ran.out + ran.err

    assert not has_colour()
    assert has_colour(is_terminal=True)
    assert not has_colour(is_terminal=True, allows_colour=False)
    assert not has_colour("--color", "never", is_terminal=True)
    assert has_colour("--color", "always", allows_colour=False)


def test_many_files_show_progress_on_a_terminal_and_only_there(tmp_path: Path) -> None:
    for number in range(120):
        (tmp_path / f"{number:03}.yaml").write_text(SOUND, "utf-8")
    ran = noetl("validate", str(tmp_path), is_terminal=True, allows_colour=False)
    assert ran.err == ("50 files checked …\r\x1b[K100 files checked …\r\x1b[K120 files, no problems\n")
    assert noetl("validate", str(tmp_path)).err == "120 files, no problems\n"


@pytest.mark.parametrize("path", sorted(EXAMPLES.rglob("*.yaml")), ids=lambda path: path.stem)
def test_an_example_is_sound_under_strict_rules(path: Path) -> None:
    ran = noetl("validate", "--strict", str(path))
    assert (ran.code, ran.out) == (0, "")
