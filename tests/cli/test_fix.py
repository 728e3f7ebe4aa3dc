from pathlib import Path

from tests.cli.invoke import BROKEN, SOUND, noetl

MENDED = BROKEN.replace("colect", "collect")


def test_what_has_a_fix_is_fixed() -> None:
    ran = noetl("fix", "-", stdin=BROKEN.encode())
    assert (ran.code, ran.out) == (0, MENDED)
    assert ran.err == "1 problem fixed in 1 file\n"


def test_an_error_without_a_fix_is_told_and_leaves_with_3(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(BROKEN.replace("- step: collect", "- step: elsewhere_altogether"), "utf-8")
    ran = noetl("fix", "--write", str(path))
    assert ran.code == 3
    assert f"{path}:8:17: error:" in ran.err
    assert "problems left, see above\n" in ran.err or "problem left, see above\n" in ran.err


def test_a_warning_that_is_left_is_told_and_leaves_with_0() -> None:
    unreachable = SOUND + "  - step: lonely\n    tool:\n      - { name: say, kind: noop }\n"
    ran = noetl("fix", "-", stdin=unreachable.encode())
    assert (ran.code, ran.out) == (0, unreachable)
    assert "warning:" in ran.err
    assert ran.err.endswith("nothing to fix in 1 file, 1 problem left, see above\n")


def test_what_is_left_is_shown_where_it_stands_after_the_fix() -> None:
    both = BROKEN.replace(
        "        - step: colect\n", "        - { step: colect }\n        - { step: elsewhere_altogether }\n"
    )
    ran = noetl("fix", "-", "--diff", stdin=both.encode())
    assert ran.code == 3
    assert "    9 |         - { step: elsewhere_altogether }" in ran.err
