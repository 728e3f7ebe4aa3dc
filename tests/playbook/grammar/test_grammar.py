from collections.abc import Iterator

import pytest

from noetl.playbook import shape
from noetl.playbook.grammar.root import PLAYBOOK
from noetl.playbook.grammar.tasks import SUGAR
from noetl.playbook.shape import Shape, Type
from noetl.playbook.vocabulary import Vocabulary


def shapes() -> list[Shape]:
    """Every shape that a document can meet."""
    vocabulary = Vocabulary()
    waiting = [
        PLAYBOOK,
        vocabulary.any_task,
        *vocabulary.tasks.values(),
        *vocabulary.keychain.values(),
        *SUGAR.values(),
    ]
    found: dict[int, Shape] = {}
    while waiting:
        at = waiting.pop()
        if id(at) not in found:
            found[id(at)] = at
            waiting += [vocabulary.spec(child) for field in at.fields.values() for child in inside(field.type)]
    return list(found.values())


def inside(type_: Type) -> Iterator[Shape]:
    if isinstance(type_, shape.Nested):
        yield type_.shape()
    elif isinstance(type_, shape.Listing | shape.Table):
        yield from inside(type_.of)
    elif isinstance(type_, shape.Either):
        for option in type_.options:
            yield from inside(option)


SHAPES = shapes()


@pytest.mark.parametrize("its", SHAPES, ids=lambda its: its.title)
def test_every_object_and_key_says_in_a_sentence_what_it_is(its: Shape) -> None:
    assert its.title
    assert its.doc.endswith(".")
    assert [name for name, field in its.fields.items() if not field.doc.endswith(".")] == []


@pytest.mark.parametrize("its", SHAPES, ids=lambda its: its.title)
def test_a_key_is_listed_under_its_own_name_and_is_old_or_reserved_but_never_required_then(its: Shape) -> None:
    assert [name for name, field in its.fields.items() if field.name != name] == []
    assert [name for name, field in its.fields.items() if field.required and (field.rule or field.inert)] == []


def test_the_root_has_the_keys_of_the_language() -> None:
    assert set(PLAYBOOK.words) == {
        "apiVersion", "kind", "metadata", "keychain", "executor", "workload", "workflow", "workbook",
    }  # fmt: skip
