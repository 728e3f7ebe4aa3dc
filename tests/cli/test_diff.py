import subprocess
from pathlib import Path

import pytest

from noetl.cli.diff import diff
from noetl.cli.reports.text import plain


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a\nb\nc\n", "a\nB\nc\n"),
        ("a\r\nb\r\n", "a\r\nB\r\n"),
        ("a\nb", "a\nB"),
        ("a\nb", "a\nb\n"),
        ("a\nb\n", "a\nb"),
        ("\ufeffa\n", "\ufeffb\n"),
        ("a\x0cb\u2028c\n", "a\x0cb\u2028d\n"),
    ],
)
def test_git_applies_the_diff_to_the_byte(before: str, after: str, tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(before.encode())
    patch = diff("x.yaml", before, after, plain).encode()
    subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=patch, check=True)
    assert path.read_bytes() == after.encode()


def test_equal_texts_have_no_diff() -> None:
    assert diff("x.yaml", "a\n", "a\n", plain) == ""


def test_colours_mark_what_comes_and_goes() -> None:
    painted = diff("x.yaml", "a\nb\n", "a\nc\n", lambda text, role: f"<{role}>{text}</>")
    assert painted.splitlines() == [
        "<removed>--- a/x.yaml</>",
        "<added>+++ b/x.yaml</>",
        "<hint>@@ -1,2 +1,2 @@</>",
        " a",
        "<removed>-b</>",
        "<added>+c</>",
    ]
