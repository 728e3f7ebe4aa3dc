from tests.playbook.texts import said, with_tool

WHOLE = with_tool("kind: http\nurl: '{{ keychain }}'")


def test_without_any_entry_the_hint_says_to_declare_one() -> None:
    (found,) = said(WHOLE, "NOE516")
    assert found.hint == "declare the entry under `keychain`, and name it here: `keychain.<name>`"


def test_the_keychain_as_a_whole_is_told_once() -> None:
    assert said(WHOLE, "NOE509") == []
