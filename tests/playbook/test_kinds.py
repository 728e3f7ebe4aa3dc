import pytest

from noetl.playbook.kinds import KEYCHAIN_KINDS, KINDS, KeychainKind, Kind

FIELDS = {
    "noop": set(),
    "http": {"url", "method", "params", "headers", "json", "data", "form", "files", "body"},
    "python": {"code", "file"},
    "script": {"script", "file", "interpreter", "argv", "parse"},
    "postgres": {"dsn", "command", "query", "params", "copy"},
    "duckdb": {"command", "query", "params", "database", "tables"},
    "playbook": {"path", "version", "return_step"},
    "workbook": {"task"},
    "resolve": {"ref", "range"},
    "secrets": {"provider", "name"},
}


def test_every_kind_of_the_language_is_there() -> None:
    assert {kind.name for kind in KINDS} == set(FIELDS)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_kind_has_the_fields_the_language_names(kind: Kind) -> None:
    assert FIELDS[kind.name] <= kind.fields.keys()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_groups_texts_and_aliases_of_a_kind_speak_of_its_fields(kind: Kind) -> None:
    named = {
        *kind.texts,
        *kind.sql,
        *kind.aliases,
        *kind.aliases.values(),
        *(n for group in kind.one_of for n in group),
    }
    assert named <= kind.fields.keys() | {"auth"}
    assert all(name == field.name for name, field in kind.fields.items())


def test_the_kinds_that_call_something_of_the_authors_are_callees() -> None:
    assert {kind.name for kind in KINDS if kind.is_callee} == {"python", "script", "playbook", "workbook"}


def test_every_keychain_kind_of_the_language_is_there() -> None:
    assert {kind.name for kind in KEYCHAIN_KINDS} == {
        "env", "file", "postgres_credential", "secret_manager", "static", "bearer", "basic", "api_key", "oauth2",
    }  # fmt: skip


@pytest.mark.parametrize("kind", KEYCHAIN_KINDS, ids=lambda kind: kind.name)
def test_a_keychain_kind_says_what_it_is(kind: KeychainKind) -> None:
    assert kind.doc.endswith(".")
    assert all(field.doc.endswith(".") for field in kind.fields.values())
