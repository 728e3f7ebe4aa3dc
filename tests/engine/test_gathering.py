"""What ended iterations gave, by intervals of indexes."""

from collections.abc import Mapping
from hashlib import sha256
from itertools import permutations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noetl.engine.gathering import Gathered, Intervals, part_of
from noetl.engine.reference import External, Reference, ReferenceMeta, encode_value
from noetl.playbook.model import Reducer

Writes = Mapping[str, object]


def gathered(
    writes: list[Writes], order: list[int] | None = None, reducers: Mapping[str, Reducer] | None = None
) -> Gathered:
    found = Intervals()
    for index in order or range(len(writes)):
        found.add(index, part_of(index, [index], writes[index], {}, reducers or {}), reducers or {})
    return found.whole


def test_intervals_that_touch_become_one_and_their_data_stays_in_index_order() -> None:
    found = Intervals()
    for index in (5, 3, 0, 4, 1):
        found.add(index, part_of(index, [index], {}, {}, {}), {})
    assert (found.starts, found.stops) == ([0, 3], [2, 6])
    assert [part.data for part in found.parts] == [[0, 1], [3, 4, 5]]
    assert [index in found for index in range(7)] == [True, True, False, True, True, True, False]
    assert (found.first_gap(0), found.first_gap(2), found.first_gap(3)) == (2, 2, 6)
    assert found.gaps(8) == [2, 6, 7]


def test_what_comes_before_the_first_interval_is_a_gap_too() -> None:
    found = Intervals()
    found.add(1, part_of(1, [1], {}, {}, {}), {})
    assert found.gaps(3) == [0, 2]
    assert found.first_gap(0) == 0


def test_data_that_is_let_go_is_gone_from_every_interval() -> None:
    found = Intervals()
    for index in (0, 2):
        found.add(index, part_of(index, [index], {}, {}, {}), {})
    found.drop_data()
    assert [part.data for part in found.parts] == [None, None]


def test_the_keys_around_a_written_one_are_known() -> None:
    assert part_of(0, [], {"a.b.c": 1}, {}, {}).inner == {"a": True, "a.b": True}


def test_nothing_gathered_is_an_empty_whole() -> None:
    assert Intervals().whole.data == []


def test_data_that_one_part_lacks_the_whole_lacks_too() -> None:
    found = Intervals()
    found.add(0, part_of(0, [1], {}, {}, {}), {})
    found.add(1, part_of(1, None, {}, {}, {}), {})
    found.add(2, part_of(2, [3], {}, {}, {}), {})
    assert found.whole.data is None
    found.drop_data()
    assert found.whole.data is None


def test_a_copy_grows_by_itself() -> None:
    found = Intervals()
    found.add(0, part_of(0, [1], {"a": 1}, {"rows": [1]}, {"rows": Reducer.APPEND}), {"rows": Reducer.APPEND})
    found.add(2, part_of(2, None, {}, {}, {}), {})
    copied = found.copy()
    copied.add(1, part_of(1, [2], {"b": 2}, {"rows": [2]}, {}), {"rows": Reducer.APPEND})
    assert (found.whole.data, found.whole.reduced, set(found.whole.writes)) == ([1], {"rows": [1]}, {"a"})
    assert [part.data for part in found.copy().parts] == [[1], None]


def test_what_an_event_holds_never_grows() -> None:
    reduced = {"rows": [1]}
    found = Intervals()
    for index in range(3):
        found.add(index, part_of(index, None, {}, reduced, {}), {"rows": Reducer.APPEND})
    assert found.whole.reduced == {"rows": [1, 1, 1]}
    assert reduced == {"rows": [1]}


@pytest.mark.parametrize(
    ("writes", "conflict"),
    [
        ([{"a": 1}, {"a": 2}], "iteration 0 wrote `ctx.a` and iteration 1 wrote `ctx.a`"),
        ([{"a": 1}, {"a": 1}, {"a": 2}], "iteration 0 wrote `ctx.a` and iteration 2 wrote `ctx.a`"),
        ([{"a": {}}, {"a.b": 1}], "iteration 0 wrote `ctx.a` and iteration 1 wrote `ctx.a.b`"),
        ([{"a.b": 1}, {"a": {}}], "iteration 0 wrote `ctx.a.b` and iteration 1 wrote `ctx.a`"),
        ([{"a.c": 1}, {"a.b": 1}, {"a": 1}], "iteration 1 wrote `ctx.a.b` and iteration 2 wrote `ctx.a`"),
        ([{"a.b.c": 1}, {}, {"a": 1}], "iteration 0 wrote `ctx.a.b.c` and iteration 2 wrote `ctx.a`"),
    ],
)
def test_writes_that_do_not_go_together_are_named_the_same_in_every_order(writes: list[Writes], conflict: str) -> None:
    for order in permutations(range(len(writes))):
        found = gathered(writes, list(order)).conflict
        assert found is not None
        assert found.startswith(conflict), order


def test_writes_beside_one_another_go_together() -> None:
    found = gathered([{"a.b": 1}, {"a.c": 2}, {"d": 3}, {"a.b": 1}])
    assert found.conflict is None
    assert {path: write.value for path, write in found.writes.items()} == {"a.b": 1, "a.c": 2, "d": 3}


def test_one_iterations_writes_inside_one_another_are_one_write() -> None:
    own = {"a": {"x": 0}, "a.b.c": 1, "a.d": 2, "e": 3}
    found = gathered([own, own])
    assert found.conflict is None
    assert {path: write.value for path, write in found.writes.items()} == {
        "a": {"x": 0, "b": {"c": 1}, "d": 2},
        "e": 3,
    }
    assert gathered([{"a": 5, "a.b": 1}]).writes["a"].value == {"b": 1}


def test_a_write_inside_a_value_kept_elsewhere_stays_with_it() -> None:
    stored = External(Reference("blob", {}))
    found = gathered([{"a": stored, "a.b.c": 1, "a.b": 2, "a.d": 3}])
    assert found.writes["a"].value == External(Reference("blob", {}), patch={"b": 2, "d": 3})


def test_equal_values_go_together_though_only_one_is_stored_elsewhere() -> None:
    value = {"text": "x" * 2_000}
    meta = ReferenceMeta(sha256=sha256(encode_value(value)).hexdigest())
    writes: list[Writes] = [{"a": value}, {"a": External(Reference("blob", {}, meta=meta))}, {"a": value}]
    for order in permutations(range(3)):
        assert gathered(writes, list(order)).conflict is None
    other: Writes = {"a": {"text": "y"}}
    assert gathered([writes[1], other]).conflict is not None


def test_a_stored_value_that_a_reducer_cannot_take_is_named_by_its_type() -> None:
    stored = External(Reference("blob", {}), holds="list")
    found = gathered([{"m": {}}, {"m": stored}], None, {"m": Reducer.MERGE})
    assert found.conflict == "iteration 1 wrote a list to `ctx.m`, where `merge` needs a mapping"


def test_a_value_that_a_reducer_cannot_take_is_a_conflict_that_names_its_iteration() -> None:
    reducers = {"n": Reducer.SUM}
    writes: list[Writes] = [{"n": 1}, {"n": "x"}, {"n": None}]
    for order in permutations(range(3)):
        found = gathered(writes, list(order), reducers)
        assert found.conflict == "iteration 1 wrote text to `ctx.n`, where `sum` needs a number"


def test_reduced_keys_do_not_conflict() -> None:
    reducers = {"n": Reducer.SUM, "rows": Reducer.APPEND, "a.b": Reducer.LAST}
    writes: list[Writes] = [{"n": 1, "rows": "x", "a.b": 1}, {"n": 2, "a.b": 2}, {"rows": "y"}]
    for order in permutations(range(3)):
        found = gathered(writes, list(order), reducers)
        assert found.conflict is None
        assert found.reduced == {"n": 3, "rows": ["x", "y"], "a.b": 2}


KEYS = st.sampled_from(["a", "a.b", "a.c", "a.b.c", "d"])


@given(st.lists(st.dictionaries(KEYS, st.integers(0, 2), max_size=3), min_size=1, max_size=5), st.randoms())
def test_the_finishing_order_never_shows(writes: list[dict[str, object]], chance: Random) -> None:
    reducers = {"d": Reducer.APPEND}
    order = list(range(len(writes)))
    chance.shuffle(order)
    straight, shuffled = gathered(list(writes), None, reducers), gathered(list(writes), order, reducers)
    assert straight.conflict == shuffled.conflict
    if straight.conflict is None:
        assert (straight.data, straight.reduced) == (shuffled.data, shuffled.reduced)
        assert {path: write.value for path, write in straight.writes.items()} == {
            path: write.value for path, write in shuffled.writes.items()
        }
