import msgspec
import pytest

from noetl.playbook.kinds import KINDS, Kind
from noetl.playbook.shape import Field, Text
from noetl.playbook.wellformed import faults

FIELD = Field("a", Text(), "A field.")
SOUND = Kind("mail", "A letter.", {"a": FIELD})


@pytest.mark.parametrize("kind", [*KINDS, SOUND], ids=lambda kind: kind.name)
def test_our_own_kinds_have_no_fault(kind: Kind) -> None:
    assert list(faults(kind)) == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"name": 3}, "`name` must be a name"),
        ({"name": "e mail"}, "`name` must be a name"),
        ({"name": "limits"}, "no word of the language; found 'limits'"),
        ({"name": "while"}, "no word of the language"),
        ({"doc": ""}, "`doc` must say"),
        ({"doc": None}, "`doc` must say"),
        ({"fields": [FIELD]}, "`fields` must be a mapping of names to Field; found list"),
        ({"fields": {"a": "text"}}, "`fields` must hold a Field"),
        ({"fields": {"a": Field("a", "text", "A field.")}}, "`fields` must hold a Field with a type"),  # type: ignore[arg-type]
        ({"fields": {"b": FIELD}}, "`fields` has the field 'a' under 'b'"),
        ({"fields": {"spec": Field("spec", Text(), "No.")}}, "`fields` has 'spec', which every task has already"),
        ({"knobs": {"policy": Field("policy", Text(), "No.")}}, "`knobs` has 'policy'"),
        ({"texts": ("b",)}, "`texts` must hold names of `fields`; found ('b',)"),
        ({"texts": "a"}, "`texts` must hold names"),
        ({"sql": ("b",)}, "`sql` must hold"),
        ({"one_of": (("a", "b"),)}, "`one_of` must hold"),
        ({"one_of": "a"}, "`one_of` must hold"),
        ({"aliases": {"a": "b"}}, "`aliases` must hold"),
        ({"blocks": ("mail",)}, "`blocks` must be a mapping"),
        ({"blocks": {"mail": "to"}}, "`blocks` must be a mapping"),
        ({"blanks": ("to",)}, "`blanks` must be a mapping of words of `blocks`"),
        ({"blocks": {"mail": ("to",)}, "blanks": {"from": []}}, "`blanks` must be a mapping of words of `blocks`"),
        ({"blocks": {"data": ()}}, "`blocks` has 'data', which every output has already"),
    ],
)
def test_a_kind_that_the_grammar_cannot_be_made_of_is_told(change: dict[str, object], told: str) -> None:
    (fault,) = faults(msgspec.structs.replace(SOUND, **change))
    assert told in fault
