from collections.abc import Iterator
from pathlib import Path

import pytest

from noetl.playbook.compile import compile_playbook
from noetl.playbook.diagnostics import Severity
from noetl.playbook.fixes import apply_fixes

GOLDEN = Path(__file__).parents[1] / "golden"
HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: { name: demo, path: demo }\n"
EXAMPLES = sorted((GOLDEN / "rules").glob("*.yaml"))


def errors(text: str) -> int:
    return sum(found.severity is Severity.ERROR for found in compile_playbook(text, "x").diagnostics)


def texts() -> Iterator[tuple[str, str]]:
    for path in EXAMPLES:
        try:
            yield path.stem, path.read_bytes().decode("utf-8")
        except UnicodeDecodeError:
            continue


@pytest.mark.parametrize("text", [text for _, text in texts()], ids=[name for name, _ in texts()])
def test_fixing_comes_to_an_end_and_leaves_nothing_that_it_could_fix(text: str) -> None:
    once = apply_fixes(text)
    again = apply_fixes(once.text)
    assert again.text == once.text
    assert not again.changed
    assert [(found.code, found.span) for found in again.left] == [(found.code, found.span) for found in once.left]


def test_a_misspelt_key_and_a_misspelt_step_are_fixed_together() -> None:
    text = (
        f"{HEAD}workflow:\n"
        "  - step: start   # here\n"
        "    inptu: { a: 1 }\n"
        "    next: { arcs: [ { step: finsh } ] }\n"
        "  - step: finish\n"
        "    tool: { kind: noop }\n"
    )
    fixed = apply_fixes(text)
    assert fixed.text == text.replace("inptu", "input").replace("finsh", "finish")
    assert [found.code for found in fixed.applied] == ["NOE101", "NOE203"]
    assert fixed.left == ()


def test_older_words_become_todays() -> None:
    text = (GOLDEN / "seeds" / "003_A_1.yaml").read_text("utf-8")
    fixed = apply_fixes(text)
    assert fixed.changed
    assert [found.code for found in fixed.left] == []
    assert "outcome" not in fixed.text
    assert "name: call" in fixed.text


def test_words_are_left_alone_where_the_last_of_them_would_change_what_prev_means() -> None:
    text = (GOLDEN / "migrate" / "prev.yaml").read_text("utf-8")
    assert "args" in apply_fixes(text).text


def test_a_text_without_problems_stays_as_it_is() -> None:
    text = f"{HEAD}workflow:\n  - step: start\n    tool: {{ kind: noop }}\n"
    fixed = apply_fixes(text)
    assert fixed.text == text
    assert not fixed.changed


def test_two_fixes_that_make_the_same_key_twice_are_not_both_applied() -> None:
    step = "  - { step: start, inptu: { a: 1 }, inpu: { b: 1 }, tool: { kind: noop } }"
    text = f"{HEAD}workflow:\n{step}\n"
    fixed = apply_fixes(text)
    assert fixed.text == text.replace("inptu", "input")
    assert [found.code for found in fixed.left] == ["NOE101"]


def test_a_fix_that_brings_another_mistake_to_light_is_applied_and_so_is_the_next() -> None:
    block = "workbok: { greet: { inptu: { a: 1 }, tool: { kind: noop } } }"
    text = f"{HEAD}workflow:\n  - {{ step: start, tool: {{ kind: workbook, task: greet }} }}\n{block}\n"
    fixed = apply_fixes(text)
    assert fixed.text == text.replace("workbok", "workbook").replace("inptu", "input")
    assert fixed.left == ()


@pytest.mark.parametrize("path", sorted((GOLDEN / "seeds").glob("00[0234]*.yaml")), ids=lambda path: path.stem)
def test_a_playbook_without_errors_has_none_after_fixing(path: Path) -> None:
    text = path.read_text("utf-8")
    assert errors(text) == 0
    assert errors(apply_fixes(text).text) == 0


def test_a_warning_is_not_fixed_at_the_price_of_an_error() -> None:
    text = (
        f"{HEAD}workflow:\n  - step: start\n"
        '    tool: { kind: http, url: "https://example.com/{{ input.b }}", args: { a: 1 } }\n'
    )
    fixed = apply_fixes(text)
    assert errors(fixed.text) == 0
