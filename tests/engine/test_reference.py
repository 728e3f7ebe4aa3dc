"""References are known by their type, and what they stand for is not read by accident."""

from hashlib import sha256

import pytest
from hypothesis import given

from noetl.engine.reference import (
    MARK,
    External,
    Reference,
    ReferenceMeta,
    decode_value,
    each_value,
    encode_value,
    is_same,
    may_refer,
    word_of,
)
from noetl.errors import TemplateError
from noetl.expressions.template import parse
from tests.engine.generated import as_read, hostile_data

REFERENCE = Reference("blob", {"sha256": "12"}, meta=ReferenceMeta(bytes=70_000, sha256="12"))
STORED = External(REFERENCE, patch={"count": 3})


@given(hostile_data())
def test_a_value_comes_back_as_it_was(value: object) -> None:
    assert as_read(decode_value(encode_value(value))) == as_read(value)


@pytest.mark.parametrize("key", ["$noetl", "$$noetl", "$$$noetl"])
def test_data_may_hold_the_mark_however_it_is_escaped(key: str) -> None:
    assert encode_value({key: "ref"}) == b'{"$' + key.encode() + b'":"ref"}'
    assert decode_value(encode_value({key: "ref"})) == {key: "ref"}


def test_only_the_mark_is_escaped() -> None:
    value = {"noetl": 1, "x$noetl": 2, "$noetl": 3}
    assert encode_value(value) == b'{"noetl":1,"x$noetl":2,"$$noetl":3}'
    assert decode_value(encode_value(value)) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{{ ref.type }}", "blob"),
        ("{{ ref.locator.sha256 }}", "12"),
        ("{{ ref.meta.bytes }}", 70_000),
        ("{{ ref }}", REFERENCE),
        ("{{ big }}", STORED),
        ("{{ big.count }}", 3),
    ],
)
def test_a_template_reads_the_reference_itself_and_passes_the_rest_on_whole(text: str, value: object) -> None:
    assert parse(text).evaluate({"ref": REFERENCE, "big": STORED}) == value


@pytest.mark.parametrize(
    "text",
    [
        "{{ ref.rows }}",
        "{{ ref[0] }}",
        "{{ ref + 1 }}",
        "{{ big.rows }}",
        "{{ big['rows'] }}",
        "{{ big[0] }}",
        "{{ big == 1 }}",
        "{{ big | length > 1 }}",
        "{{ 'x' in big }}",
        "{{ big | list | length }}",
        "{{ big | map(attribute='x') | list }}",
    ],
)
def test_reading_data_that_is_elsewhere_is_an_error_of_its_own_kind(text: str) -> None:
    for read in (parse(text).evaluate, parse(text).test):
        with pytest.raises(TemplateError) as caught:
            read({"ref": REFERENCE, "big": STORED})
        assert caught.value.kind == "data_by_reference"
        assert "resolve" in caught.value.message


def test_what_was_written_inside_a_stored_value_since_is_what_is_read() -> None:
    read = {"big": External(REFERENCE, {"count": 4, "deep": {"x": 1}, "deep.x": 2, "a.b": 7})}
    assert parse("{{ big.count }}").evaluate(read) == 4
    for text in ("{{ big.deep }}", "{{ big.a }}", "{{ big['a.b'] }}", "{{ big.other }}"):
        with pytest.raises(TemplateError, match="cannot be read here"):
            parse(text).evaluate(read)


def test_a_value_is_the_same_whether_it_is_stored_or_not() -> None:
    value = {"a": [1, 2]}
    digest = sha256(encode_value(value)).hexdigest()
    stored = External(Reference("blob", {}, meta=ReferenceMeta(sha256=digest)), holds="dict")
    elsewhere = External(Reference("object_store", {"key": "x"}, meta=ReferenceMeta(sha256=digest)))
    assert is_same(value, {"a": [1, 2]})
    assert is_same(value, stored)
    assert is_same(stored, value)
    assert is_same(stored, elsewhere)
    assert not is_same(stored, [1])
    assert not is_same(value, [1])
    assert not is_same([1], 1)
    assert not is_same(1, [1])
    assert not is_same(value, 1)
    assert is_same({"x": [value, 1]}, {"x": [stored, 1]})
    for other in ({"x": [stored]}, {"x": [stored, 2]}, {"y": [stored, 1]}, {"x": [stored, 1], "y": 1}, [stored, 1]):
        assert not is_same({"x": [value, 1]}, other)


def test_a_stored_value_that_was_written_since_is_the_same_as_itself_only() -> None:
    value = {"a": 1}
    meta = ReferenceMeta(sha256=sha256(encode_value(value)).hexdigest())
    written = External(Reference("blob", {}, meta=meta), patch={"a": 2})
    assert is_same(written, External(Reference("blob", {}, meta=meta), patch={"a": 2}))
    assert not is_same(written, value)
    assert not is_same(value, written)
    assert not is_same(External(Reference("nats", {})), External(Reference("blob", {})))


@pytest.mark.parametrize(
    ("value", "word"),
    [
        (3, "a number"),
        ({}, "a mapping"),
        (REFERENCE, "a reference"),
        (External(REFERENCE, holds="dict"), "a mapping"),
        (External(REFERENCE, holds="list"), "a list"),
        (External(REFERENCE, holds="str"), "text"),
        (External(REFERENCE), "data"),
    ],
)
def test_a_value_has_a_word_wherever_it_is_stored(value: object, word: str) -> None:
    assert word_of(value) == word


def test_the_message_says_how_large_the_data_is_and_what_to_do() -> None:
    with pytest.raises(TemplateError, match=r"70000 bytes.*spec\.result\.select.*kind: resolve"):
        parse("text {{ big }}").evaluate({"big": STORED})


def test_a_reference_has_no_text() -> None:
    with pytest.raises(TemplateError, match="a reference has no text: pass it on whole"):
        parse("text {{ ref }}").evaluate({"ref": REFERENCE})


def test_what_is_not_changed_is_not_copied() -> None:
    for value in ({"a": [1, (2,)]}, [1, 2], (1, 2), REFERENCE, STORED, 1):
        assert each_value(value, lambda item: item) is value
    assert each_value((1, 2), lambda _item: 3) == (3, 3)


def test_what_may_refer_is_known_from_its_json() -> None:
    assert may_refer({"a": [External(Reference("blob", {}))]})
    assert may_refer(Reference("blob", {}))
    assert may_refer({MARK: "data"})
    assert not may_refer({"price": "5 $", "type": "blob"})
