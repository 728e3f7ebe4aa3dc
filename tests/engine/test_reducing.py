"""Reducers: the same result in whatever order values are combined."""

from functools import reduce
from itertools import permutations
from math import fsum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noetl.engine.reducing import can_start, combine, first, fits, needs, own_copy, reduce_onto
from noetl.engine.reference import External, Reference
from noetl.playbook.model import Reducer

STORED = {"12": {"a": 7, "s": 7}, "34": {"a": 8, "t": 8}}


def external(name: str, holds: str = "dict") -> External:
    return External(Reference("blob", {"name": name}), holds=holds)


def read(stored: External) -> object:
    return STORED[str(stored.reference.locator["name"])]


def combined(reducer: Reducer, values: list[object]) -> object:
    return reduce(lambda left, right: combine(reducer, left, right), [first(reducer, value) for value in values])


@pytest.mark.parametrize(
    ("reducer", "values", "start", "result"),
    [
        (Reducer.SUM, [1, 2, 3], None, 6),
        (Reducer.SUM, [1, 2, 3], 10, 16),
        (Reducer.SUM, [0.5, 1], 10, 11.5),
        (Reducer.SUM, [1, 0.5], 0.25, 1.75),
        (Reducer.COUNT, ["a", None, 3], None, 3),
        (Reducer.COUNT, ["a", None, 3], 10, 13),
        (Reducer.MIN, [3, 1.5, 2], None, 1.5),
        (Reducer.MIN, [3, 2], 1, 1),
        (Reducer.MAX, [3, 1.5, 2], None, 3),
        (Reducer.MAX, [3, 2], 9, 9),
        (Reducer.APPEND, [1, [2]], None, [1, [2]]),
        (Reducer.APPEND, [1, [2]], [0], [0, 1, [2]]),
        (Reducer.APPEND, [1], 0, [0, 1]),
        (Reducer.MERGE, [{"a": 1}, {"b": 2}, {"a": 3}], None, {"a": 3, "b": 2}),
        (Reducer.MERGE, [{"a": 1}], {"a": 0, "z": 0}, {"a": 1, "z": 0}),
        (Reducer.MERGE, [{"a": 1}, external("12"), {"b": 2}], {"z": 0}, {"a": 7, "b": 2, "s": 7, "z": 0}),
        (Reducer.MERGE, [external("34"), external("12")], None, {"a": 7, "s": 7, "t": 8}),
        (Reducer.APPEND, [external("12")], [0], [0, external("12")]),
        (Reducer.LAST, [1, 2, 3], None, 3),
        (Reducer.LAST, [1, 2, 3], 9, 3),
    ],
)
def test_values_are_reduced_in_index_order_onto_what_ctx_had(
    reducer: Reducer, values: list[object], start: object, result: object
) -> None:
    assert reduce_onto(reducer, start, combined(reducer, values), read) == result


@pytest.mark.parametrize(
    ("reducer", "value"),
    [
        (Reducer.SUM, "1"),
        (Reducer.SUM, True),
        (Reducer.SUM, 1e300),
        (Reducer.MIN, None),
        (Reducer.MERGE, [1]),
        (Reducer.MERGE, external("12", "list")),
        (Reducer.MERGE, external("12", "")),
    ],
)
def test_values_that_a_reducer_cannot_take_do_not_fit(reducer: Reducer, value: object) -> None:
    assert not fits(reducer, value)


@pytest.mark.parametrize(
    ("reducer", "value"), [(Reducer.SUM, 1e290), (Reducer.MAX, -1e290), (Reducer.MERGE, external("12"))]
)
def test_values_at_the_bound_and_mappings_stored_elsewhere_fit(reducer: Reducer, value: object) -> None:
    assert fits(reducer, value)


def test_count_goes_on_from_a_number_and_anything_from_nothing() -> None:
    assert can_start(Reducer.COUNT, 3)
    assert not can_start(Reducer.COUNT, "3")
    assert can_start(Reducer.SUM, None)
    assert can_start(Reducer.MERGE, {"a": 1})
    assert not can_start(Reducer.MERGE, 3)


def test_what_a_reducer_needs_is_said_in_words() -> None:
    assert needs(Reducer.MERGE) == "`merge` needs a mapping"
    assert needs(Reducer.SUM) == "`sum` needs a number"


def test_a_kept_value_grows_without_changing_what_it_was_made_of() -> None:
    given_ = {"a": 1}
    kept = combine(Reducer.MERGE, first(Reducer.MERGE, given_), {"b": 2})
    assert (given_, kept) == ({"a": 1}, {"a": 1, "b": 2})
    assert own_copy("text") == "text"


def test_mappings_that_meet_between_stored_ones_are_one_layer_and_events_keep_theirs() -> None:
    given_: list[object] = [external("12"), {"a": 1}]
    kept = combine(Reducer.MERGE, combine(Reducer.MERGE, own_copy(given_), {"b": 2}), [{"c": 3}, external("34")])
    assert kept == [external("12"), {"a": 1, "b": 2, "c": 3}, external("34")]
    assert given_ == [external("12"), {"a": 1}]


LAYERS = st.one_of(
    st.dictionaries(st.sampled_from("abs"), st.integers(0, 9), max_size=2),
    st.sampled_from([external("12"), external("34")]),
)


@given(st.lists(LAYERS, min_size=1, max_size=6), st.integers(1, 5))
def test_a_merge_does_not_depend_on_how_its_values_are_grouped(layers: list[object], split: int) -> None:
    ordered = combined(Reducer.MERGE, layers)
    parts = [part for part in (layers[:split], layers[split:]) if part]
    grouped = reduce(
        lambda left, right: combine(Reducer.MERGE, left, right), [combined(Reducer.MERGE, part) for part in parts]
    )
    assert grouped == ordered


NUMBERS = st.one_of(st.integers(-(10**30), 10**30), st.floats(-1e100, 1e100, allow_nan=False))


@given(st.lists(NUMBERS, min_size=1, max_size=6))
def test_a_sum_does_not_depend_on_how_its_values_are_grouped(numbers: list[float]) -> None:
    ordered = combined(Reducer.SUM, list(numbers))
    for split in range(1, len(numbers)):
        left, right = combined(Reducer.SUM, list(numbers[:split])), combined(Reducer.SUM, list(numbers[split:]))
        assert reduce_onto(Reducer.SUM, None, combine(Reducer.SUM, left, right), read) == reduce_onto(
            Reducer.SUM, None, own_copy(ordered), read
        )


def test_a_sum_of_fractions_is_kept_in_few_parts() -> None:
    assert combined(Reducer.SUM, [0.5] * 1_000) == [500.0]
    assert combined(Reducer.SUM, [1e16, 1.0, 0.5]) == [-0.5, 1e16 + 2]


def test_a_sum_of_fractions_is_exact_in_every_order() -> None:
    numbers = [1e16, 1.0, -1e16, 1e-3]
    found = {
        reduce_onto(Reducer.SUM, None, combined(Reducer.SUM, list(order)), read) for order in permutations(numbers)
    }
    assert found == {fsum(numbers)} == {1.001}
