"""Edits: order, overlap, and that what no edit covers stays as it is."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from noetl.playbook.diagnostics import Edit
from noetl.playbook.source.edits import apply_edits, apply_fixes

TEXT = "a: b\r\nc: \U0001f600\u2028d\x85\rend"


def test_edits_apply_in_the_order_of_the_text() -> None:
    applied = apply_edits("abcdef", [Edit(4, 5, "E"), Edit(0, 1, "AA"), Edit(2, 2, "-")])
    assert applied.text == "AAb-cdEf"
    assert applied.refused == ()


def test_identical_edits_count_once() -> None:
    assert apply_edits("ab", [Edit(1, 1, "x"), Edit(1, 1, "x")]).text == "axb"
    assert apply_fixes("ab", [(Edit(1, 1, "x"), Edit(1, 1, "x"))]).text == "axb"


def test_insertions_at_one_place_keep_the_given_order() -> None:
    assert apply_edits("ab", [Edit(1, 1, "z"), Edit(1, 1, "y"), Edit(1, 2, "B")]).text == "azyB"


def test_of_overlapping_edits_the_later_is_refused() -> None:
    applied = apply_edits("abcdef", [Edit(2, 5, "x"), Edit(1, 3, "y"), Edit(2, 2, "z"), Edit(3, 6, "w")])
    assert applied.text == "aydef"[:2] + "w"
    assert applied.refused == ((Edit(2, 2, "z"),), (Edit(2, 5, "x"),))


def test_neighbours_do_not_overlap() -> None:
    assert apply_edits("abcd", [Edit(0, 2, "x"), Edit(2, 4, "y"), Edit(2, 2, "-")]).text == "x-y"


def test_a_replacement_over_an_accepted_insertion_is_refused() -> None:
    applied = apply_fixes("abcd", [(Edit(0, 1, "x"), Edit(2, 2, "-")), (Edit(1, 3, "y"),)])
    assert applied.text == "xb-cd"
    assert applied.refused == ((Edit(1, 3, "y"),),)


def test_an_edit_outside_the_text_is_refused() -> None:
    edits = [Edit(-1, 0, "x"), Edit(2, 1, "x"), Edit(0, 9, "x")]
    applied = apply_edits("abc", edits)
    assert applied.text == "abc"
    assert len(applied.refused) == 3


def test_a_fix_is_applied_wholly_or_not_at_all() -> None:
    broken = (Edit(1, 2, "x"), Edit(4, 5, "x"))
    applied = apply_fixes("abcdef", [broken, (Edit(0, 2, "y"),), ()])
    assert applied.text == "ycdef"
    assert applied.refused == (broken,)


def test_a_fix_whose_own_edits_overlap_is_refused() -> None:
    broken = (Edit(0, 2, "x"), Edit(1, 3, "y"))
    assert apply_fixes("abc", [broken]).refused == (broken,)


@st.composite
def edits_of(draw: st.DrawFn) -> list[Edit]:
    offsets = st.integers(0, len(TEXT))
    pairs = draw(st.lists(st.tuples(offsets, offsets, st.sampled_from(["", "x", "\r\n"])), max_size=6))
    return [Edit(min(a, b), max(a, b), text) for a, b, text in pairs]


@given(edits_of())
def test_what_no_edit_covers_stays_in_its_order(edits: list[Edit]) -> None:
    applied = apply_edits(TEXT, edits)
    taken = [edit for edit in dict.fromkeys(edits) if (edit,) not in applied.refused]
    kept = "".join(char for offset, char in enumerate(TEXT) if not any(e.start <= offset < e.end for e in taken))
    rest = iter(applied.text)
    assert all(char in rest for char in kept)
    assert len(applied.text) == len(kept) + sum(len(edit.text) for edit in taken)


@given(edits_of())
def test_accepted_edits_never_overlap(edits: list[Edit]) -> None:
    refused = apply_edits(TEXT, edits).refused
    taken = sorted({edit for edit in edits if (edit,) not in refused})
    assert all(a.end <= b.start for a, b in pairwise(taken))
