"""Patches of scopes and what they may write."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noetl.engine.binding import BindingFailed, Places
from noetl.engine.events import Patch
from noetl.engine.reference import External, Reference, decode_value, encode_value
from noetl.engine.scopes import chained, iterators, overlaid, patched, setter
from noetl.engine.size import hydrate, stored_in

REFERENCE = Reference("blob", {})
EXTERNAL = External(REFERENCE)
MAPPING = External(REFERENCE, holds="dict")


def test_a_patch_changes_a_copy_and_reaches_inside() -> None:
    before = {"a": {"b": 1, "c": 2}, "d": 3}
    assert patched(before, {"a.b": 9, "e.f": 4}) == {"a": {"b": 9, "c": 2}, "d": 3, "e": {"f": 4}}
    assert before == {"a": {"b": 1, "c": 2}, "d": 3}


PATHS = st.sampled_from(["a", "a.b", "a.b.c", "a.c", "d"])
PATCHES = st.dictionaries(PATHS, st.integers(0, 3), max_size=4)


@given(PATCHES, PATCHES, PATCHES)
def test_one_patch_after_another_is_one_patch(
    base: dict[str, object], one: dict[str, object], two: dict[str, object]
) -> None:
    start = patched({}, base)
    assert patched(start, overlaid(one, two)) == patched(patched(start, one), two)


def test_what_is_written_inside_a_value_kept_elsewhere_stays_with_it_until_it_is_read_back() -> None:
    once = patched({"a": EXTERNAL}, {"a.b.c": 1, "a.d": 2})
    twice = patched(once, {"a.b": 3, "a.e_ref": REFERENCE})
    assert twice == {"a": External(REFERENCE, patch={"d": 2, "b": 3, "e_ref": REFERENCE})}
    stored = encode_value({"b": {"c": 0, "z": 0}, "y": 9})
    assert hydrate(once, lambda _: stored) == {"a": {"b": {"c": 1, "z": 0}, "y": 9, "d": 2}}
    assert hydrate(twice, lambda _: stored) == {"a": {"b": 3, "y": 9, "d": 2, "e_ref": REFERENCE}}
    assert hydrate(once, lambda _: encode_value([1])) == {"a": {"b": {"c": 1}, "d": 2}}
    assert list(stored_in(once)) == [REFERENCE]
    assert decode_value(encode_value(twice)) == twice


def test_a_set_sorts_its_targets_by_scope() -> None:
    evaluate = setter({"ctx.a.b": "{{ input.x }}", "step.c": 2, "iter.d": [1]}, "p", Places())
    assert evaluate({"input": {"x": 1}, "ctx": {}}) == Patch({"a.b": 1}, {"c": 2}, {"d": [1]})
    assert setter({}, "p", Places())({}) == Patch()


@pytest.mark.parametrize(
    ("target", "value", "message"),
    [
        ("ctx.rows", REFERENCE, "`ctx.rows` receives a reference, so its name must end in `_ref`"),
        ("ctx.rows_ref", 5, "`ctx.rows_ref` ends in `_ref`, so it must receive a reference and not a number"),
        ("ctx.rows_ref", EXTERNAL, "`ctx.rows_ref` ends in `_ref`, so it must receive a reference and not data"),
        ("ctx.rows_ref", MAPPING, "`ctx.rows_ref` ends in `_ref`, so it must receive a reference and not a mapping"),
    ],
)
def test_a_reference_and_nothing_else_goes_to_a_name_that_ends_in_ref(target: str, value: object, message: str) -> None:
    with pytest.raises(BindingFailed) as caught:
        setter({target: "{{ input.x }}"}, "p", Places())({"input": {"x": value}})
    assert caught.value.error.kind == "template"
    assert caught.value.error.message == f"p/{target}: {message}"


@pytest.mark.parametrize(
    ("target", "value"),
    [("ctx.rows_ref", REFERENCE), ("ctx.rows_ref", None), ("ctx.rows", EXTERNAL), ("ctx.rows", None)],
)
def test_null_clears_any_name_and_data_kept_elsewhere_is_data(target: str, value: object) -> None:
    patch = setter({target: "{{ input.x }}"}, "p", Places())({"input": {"x": value}})
    assert patch.ctx == {target.removeprefix("ctx."): value}


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        (5, "`ctx.a` is a number and no mapping"),
        ([1], "`ctx.a` is a list and no mapping"),
        (EXTERNAL, "`ctx.a` is data and no mapping; write `ctx.a` whole"),
        (External(REFERENCE, holds="list"), "`ctx.a` is a list and no mapping; write `ctx.a` whole"),
        (MAPPING, "`ctx.a` is stored outside the log and is not read here; write `ctx.a.b` whole"),
    ],
)
def test_a_path_does_not_lead_through_what_is_no_mapping(inside: object, message: str) -> None:
    with pytest.raises(BindingFailed, match=message):
        setter({"ctx.a.b.c": 1}, "p", Places())({"ctx": {"a": inside}})


def test_the_first_key_of_a_path_must_be_a_mapping_too() -> None:
    with pytest.raises(BindingFailed, match=r"`ctx\.a` is a number and no mapping"):
        setter({"ctx.a.b": 1}, "p", Places())({"ctx": {"a": 5}})


def test_a_mapping_kept_elsewhere_takes_new_values_of_its_own_keys() -> None:
    assert setter({"ctx.a.b.c": 1}, "p", Places())({"ctx": {"a": {"b": MAPPING}}}).ctx == {"a.b.c": 1}


@pytest.mark.parametrize("inside", [{}, {"a": None}, {"a": {}}, {"a": {"b": None}}])
def test_a_path_leads_through_what_is_not_there_yet(inside: dict[str, object]) -> None:
    assert setter({"ctx.a.b.c": 1}, "p", Places())({"ctx": inside}).ctx == {"a.b.c": 1}


def test_names_resolve_in_the_order_of_their_scopes() -> None:
    scope = chained({"a": 1}, {"a": 2, "b": 2}, {"b": 3, "c": 3})
    assert dict(scope) == {"a": 1, "b": 2, "c": 3}


def test_iterators_have_bare_names_the_innermost_first() -> None:
    scratch = {"cell": 1, "parent": {"row": 2, "parent": {"cell": 3}}}
    assert iterators(("cell", "row", "cell"), scratch) == {"cell": 1, "row": 2}
    assert iterators(("row",), None) == {}
