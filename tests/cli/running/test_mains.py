"""What a `main` needs is told only where it is certain that the code comes to call it."""

import pytest

from noetl.cli.running.mains import lacked_argument
from noetl.playbook.compile import compile_playbook
from noetl.playbook.source.nodes import Scalar
from noetl.playbook.source.scalars import quote

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: { name: a, path: a }\nworkflow:\n  - step: a\n    tool:\n"


def lacked(code: str, *given: str, written: str | None = None) -> tuple[str, int, int] | None:
    """The argument, its line and its column."""
    task = f"      kind: python\n      code: {written or quote(code)}\n"
    document = compile_playbook(f"{HEAD}{task}", "a.yaml").document
    assert document is not None
    node = document.node(document.playbook.workflow[0].tool[0]).get("code")
    assert isinstance(node, Scalar)
    found = lacked_argument(document, node, given)
    return None if found is None else (found.name, found.span.line, found.span.column)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ("a, b", "b"),
        ("b, /, a", "b"),
        ("a, *, b", "b"),
        ("a, *, c=1, b", "b"),
        ("a, *rest, b, **more", "b"),
    ],
)
def test_an_argument_that_nobody_gives_is_found(arguments: str, name: str) -> None:
    found = lacked(f"def main({arguments}): return 1", "a", "x")
    assert found is not None
    assert found[0] == name


@pytest.mark.parametrize("arguments", ["", "a", "a, b=1", "a, /", "a, *, b=1", "*rest", "**more", "a, *rest, **more"])
def test_a_main_that_gets_all_it_needs_is_left_alone(arguments: str) -> None:
    assert lacked(f"def main({arguments}): return 1", "a", "x") is None


def test_the_place_is_that_of_the_argument() -> None:
    written = '|\n        """Ünicöde"""\n        import os\n        async def main(a, *, ä, lacks):\n          return a'
    assert lacked("", "a", "ä", written=written) == ("lacks", 11, 33)


@pytest.mark.parametrize(
    "before",
    ["", "'''Words.'''", "import os, sys as system", "from os import path", "N: int = 3", "n = m = 3", "class A: pass"],
)
def test_what_stands_beside_a_main_may_leave_it_as_it_is(before: str) -> None:
    assert lacked(f"{before}\ndef main(b): return 1") is not None


@pytest.mark.parametrize(
    "other",
    [
        "result = 3",
        "main = print",
        "main = lambda: 1",
        "(n, result) = (1, 2)",
        "result: int = 3",
        "import sys\nsys.exit(0)",
        "n = exit(0)",
        "if True: result = 1",
        "from os import *",
        "import os as main",
        "from os import path as result",
        "def result(): pass",
        "def main(): pass",
        "@print\ndef other(): pass",
        "class result: pass",
        "x = (",
        "x = '\0'",
    ],
)
def test_nothing_is_said_where_a_main_may_not_be_called(other: str) -> None:
    assert lacked(f"def main(b): return 1\n{other}") is None


def test_nothing_is_said_of_a_main_that_is_decorated_or_not_there() -> None:
    assert lacked("@print\ndef main(b): return 1") is None
    assert lacked("n = 1") is None
