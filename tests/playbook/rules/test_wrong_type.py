import pytest

from tests.playbook.texts import said, with_step


@pytest.mark.parametrize(
    ("value", "found", "hint"),
    [
        ("5", "the number 5", "write a list: [5]"),
        ("abc", 'the text "abc"', "write a list: [abc]"),
        ("~", "nothing", "write the list behind `in:`, or one {{ … }} that gives it"),
    ],
)
def test_a_loop_runs_over_a_list(value: str, found: str, hint: str) -> None:
    (report,) = said(with_step(f"loop: {{ in: {value}, iterator: n }}\ntool: {{ kind: noop }}"), "NOE103")
    assert report.message == f'"in" takes a list or a {{{{ … }}}} that gives one; found {found}'
    assert report.hint == hint


def test_a_step_has_a_task_where_it_has_a_tool() -> None:
    (report,) = said(with_step("tool: []"), "NOE103")
    assert report.message == '"tool" is an empty list; expected at least 1 item'


def test_a_branch_may_do_nothing() -> None:
    branches = "[ { when: true, tool: [] }, { else: { tool: { kind: noop } } } ]"
    assert said(with_step(f"tool: [ {{ name: c, choose: {branches} }} ]"), "NOE103") == []


def test_a_version_that_is_a_number_is_replaced_by_the_one_there_is() -> None:
    (report,) = said(with_step("tool: { kind: noop }").replace("noetl.io/v2", "2"), "NOE103")
    assert report.hint == "write noetl.io/v2"


def test_a_number_is_written_in_digits() -> None:
    (report,) = said(with_step("tool: { kind: http, url: 'https://example.com', spec: { timeout: 10s } }"), "NOE103")
    assert report.hint == "write the number in digits, without a unit"
