"""Values of the host: what a template may do with a reference or a secret."""

import pytest

from noetl.errors import TemplateError
from noetl.expressions.template import Readable, parse
from tests.expressions.values import failure, holds, message_of, value_of


class Reference(Readable):
    def read(self, name: str) -> object:
        if name == "data":
            raise TemplateError("the data is stored elsewhere", kind="data_by_reference")
        return {"type": "blob"}[name]


class Secret(Readable):
    def text(self) -> str:
        return "s3cret"


SCOPE = {"ref": Reference(), "secret": Secret(), "other": Secret(), "thing": object(), "map": {"ref": Reference()}}


def test_a_host_value_is_passed_on_whole() -> None:
    assert value_of("ref", SCOPE) is SCOPE["ref"]
    assert value_of("[ref]", SCOPE) == [SCOPE["ref"]]
    assert value_of("thing", SCOPE) is SCOPE["thing"]
    assert value_of("{'a': thing}", SCOPE) == {"a": SCOPE["thing"]}


def test_it_shows_the_members_it_wants_to() -> None:
    assert value_of("ref.type", SCOPE) == "blob"
    assert value_of("ref['type']", SCOPE) == "blob"
    assert value_of("map.ref.type", SCOPE) == "blob"
    assert value_of("ref.nope | default(1)", SCOPE) == 1
    assert value_of("ref[0] | default(1)", SCOPE) == 1
    assert message_of("ref.nope", SCOPE) == "`ref` is an object (Reference) and has no nope"
    assert message_of("secret.x", SCOPE) == "`secret` is an object (Secret) and has no x"


@pytest.mark.parametrize("text", ["{{ ref.data }}", "{{ ref['data'] }}", "{{ [ref] | map(attribute='data') }}"])
def test_its_own_error_keeps_its_kind_and_gets_a_place(text: str) -> None:
    error = failure(text, SCOPE)
    assert error.kind == "data_by_reference"
    assert error.message.startswith("the data is stored elsewhere")
    assert 0 < error.start < error.end


def test_it_stands_in_text_only_where_it_has_one() -> None:
    assert parse("Bearer {{ secret }}").evaluate(SCOPE) == "Bearer s3cret"
    assert value_of("[secret] ~ ''", SCOPE) == "[s3cret]"
    assert message_of("ref ~ ''", SCOPE).startswith("this value can only be passed on whole")
    assert message_of("thing ~ ''", SCOPE).startswith("an object (object) has no text")


def test_it_is_compared_by_its_text() -> None:
    assert holds("secret == 's3cret' and secret == other and secret != 'x'", SCOPE)
    assert holds("secret in ['a', secret] and ref == ref", SCOPE)
    assert message_of("ref in ['a', thing]", SCOPE).startswith("this value can only be passed on whole")
    assert message_of("ref == 'a'", SCOPE).startswith("this value can only be passed on whole")
    assert holds("thing == thing and thing != 1 and ref", SCOPE)


def test_no_python_attribute_is_reachable() -> None:
    for expression in (
        "thing.__class__",
        "''.__class__",
        "[].__len__",
        "ref.read",
        "map.__init__",
        "(1).real",
        "map.ref.text",
    ):
        assert "has no" in message_of(expression, SCOPE)
