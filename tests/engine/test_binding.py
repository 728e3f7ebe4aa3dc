"""Values with templates in them."""

import pytest

from noetl.engine.binding import SHOWN_MAX, BindingFailed, Places, binder, guard, shown
from noetl.engine.reference import GONE, External, Gone, Loss, Reference
from noetl.playbook.diagnostics import Span

PLACES = Places("file.yaml", {"a/b": Span(3, 7, 3, 9), "a": Span(2, 1, 9, 9)})


def test_templates_are_evaluated_wherever_they_stand_and_keep_their_type() -> None:
    value = {"n": "{{ x }}", "text": "x={{ x }}", "list": [1, "{{ x }}", {"y": "{{ x }}"}], "plain": {"z": [1, "a"]}}
    bound = binder(value, "a", PLACES)({"x": 5})
    assert bound == {"n": 5, "text": "x=5", "list": [1, 5, {"y": 5}], "plain": {"z": [1, "a"]}}


@pytest.mark.parametrize("value", [None, 1, "text", [1, 2], {"a": 1}])
def test_what_holds_no_template_is_constant(value: object) -> None:
    assert binder(value, "a", PLACES)({}) is value


def test_data_that_looks_like_a_template_stays_data() -> None:
    assert binder("{{ x }}", "a", PLACES)({"x": "{{ y }}"}) == "{{ y }}"


def test_a_failure_names_expression_file_line_and_column() -> None:
    with pytest.raises(BindingFailed) as caught:
        binder({"b": "{{ x.y }}"}, "a", PLACES)({"x": {}})
    error = caught.value.error
    assert error.message.startswith("file.yaml:3:7: ")
    assert error.message.endswith(", in `{{ x.y }}`")
    assert error.details == {"expression": "{{ x.y }}", "path": "a/b", "file": "file.yaml", "line": 3, "column": 7}


def test_a_failure_points_at_the_nearest_part_whose_place_is_known() -> None:
    with pytest.raises(BindingFailed, match=r"file\.yaml:2:1: "):
        binder({"c": ["{{ x.y }}"]}, "a", PLACES)({"x": {}})


def test_without_a_source_a_failure_names_the_path() -> None:
    with pytest.raises(BindingFailed, match=r"^z/0: ") as caught:
        binder(["{{ x }}"], "z", Places())({})
    assert isinstance(caught.value.error.details, dict)
    assert caught.value.error.details["line"] is None


def test_a_long_expression_is_cut_in_the_message() -> None:
    with pytest.raises(BindingFailed) as caught:
        binder("{{ x.y }}" + " and more" * 100, "z", Places())({"x": {}})
    assert len(caught.value.error.message) < 400
    assert caught.value.error.message.endswith("…`")


def test_what_a_message_shows_is_one_line_and_not_long() -> None:
    assert shown("a\n  b") == "a b"
    assert shown("x" * SHOWN_MAX) == "x" * SHOWN_MAX
    assert shown("x" * (SHOWN_MAX + 1)) == "x" * SHOWN_MAX + "…"


def test_a_guard_is_a_constant_or_one_expression() -> None:
    assert [guard(when, "a", PLACES)({}) for when in (None, True, False)] == [True, True, False]
    assert guard("{{ x > 1 }}", "a", PLACES)({"x": 2})
    assert not guard("{{ x > 1 }}", "a", PLACES)({})


def test_a_guard_that_calculates_with_what_is_undefined_raises() -> None:
    with pytest.raises(BindingFailed, match=r"file\.yaml:2:1"):
        guard("{{ x + 1 }}", "a", PLACES)({})


LOST = Gone(External(Reference("blob", {})), Loss("was kept for 1h", retryable=True).error_of_step("a"))
TORN = {GONE: True, "a": {"data": LOST, "status": "ok", "rows": [1, LOST], "pairs": (LOST, 1)}}


@pytest.mark.parametrize(
    "text",
    [
        "{{ a.data }}",
        "{{ a.data.rows }}",
        "found {{ a.data }}",
        "{{ a.data == 1 }}",
        "{{ a }}",
        "{{ a.rows }}",
        "{{ a.pairs }}",
        "{{ [[a.data]] }}",
        "{{ {'k': a.data} }}",
        "{{ a.data | default(1) }}",
        "{{ a.rows | map('string') | list }}",
        "{{ a.data if true }}",
    ],
)
def test_whoever_needs_what_is_gone_hears_so(text: str) -> None:
    with pytest.raises(BindingFailed) as caught:
        binder({"b": text}, "a", PLACES)(TORN)
    error = caught.value.error
    assert (error.kind, error.retryable) == ("reference_not_available", True)
    assert "the data of step `a` was kept for 1h; run that step again: `noetl rerun … --from a`" in error.message


@pytest.mark.parametrize("text", ["{{ a.data == 1 }}", "{{ a.data.rows }}", "{{ a.rows[1] > 1 }}"])
def test_a_guard_that_needs_what_is_gone_fails(text: str) -> None:
    with pytest.raises(BindingFailed) as caught:
        guard(text, "a/b", PLACES)(TORN)
    assert caught.value.error.kind == "reference_not_available"


@pytest.mark.parametrize(
    ("text", "value"),
    [("{{ a.status }}", "ok"), ("{{ a.rows[0] }}", 1), ("{{ [a.status] }}", ["ok"]), ("{{ a.data is defined }}", True)],
)
def test_who_does_not_need_what_is_gone_goes_on(text: str, value: object) -> None:
    assert binder(text, "a", PLACES)(TORN) == value
