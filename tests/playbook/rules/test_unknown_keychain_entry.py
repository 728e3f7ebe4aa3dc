from tests.playbook.texts import said, with_tool


def test_without_any_entry_the_hint_shows_how_to_declare_one() -> None:
    (found,) = said(with_tool("kind: http\nurl: '{{ keychain.site.url }}'"), "NOE509")
    assert found.hint == "declare it:\n  keychain:\n    - name: site\n      kind: secret_manager"
