from pathlib import Path

from tests.cli.invoke import SOUND, noetl

OLDER = """\
apiVersion: noetl.io/v10
kind: Playbook
metadata: { name: demo, path: demo }   # kept
workflow:
  - step: start
    tool:
      - get:
          kind: http
          url: http://localhost   # kept too
"""


def test_an_older_playbook_is_migrated_with_its_comments(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(OLDER.replace("\n", "\r\n").encode())
    ran = noetl("migrate", "--write", str(path))
    assert ran.code == 0
    text = path.read_bytes().decode()
    assert "apiVersion: noetl.io/v2\r\n" in text
    assert "      - name: get\r\n        kind: http\r\n" in text
    assert text.count("# kept") == 2
    assert text.count("\n") == text.count("\r\n")
    assert noetl("validate", "--strict", str(path)).code == 0


def test_a_playbook_of_today_is_left_as_it_is() -> None:
    ran = noetl("migrate", "-", stdin=SOUND.encode())
    assert (ran.code, ran.out, ran.err) == (0, SOUND, "nothing to migrate in 1 file\n")


def test_what_cannot_be_translated_is_told_and_the_rest_is_migrated() -> None:
    stuck = OLDER + "          eval:\n            - { expr: '{{ success }}', do: continue, set_shared: { a: 1 } }\n"
    ran = noetl("migrate", "-", stdin=stuck.encode())
    assert ran.code == 3
    assert "not migrated" in ran.err
    assert "could not be migrated, see above\n" in ran.err


def test_a_text_that_is_no_yaml_is_told_and_given_back() -> None:
    ran = noetl("migrate", "-", stdin=b"kind: Playbook\na: [\n")
    assert (ran.code, ran.data) == (3, b"kind: Playbook\na: [\n")
    assert "<stdin>:2:4: error:" in ran.err


def test_check_leaves_with_3_where_something_would_change() -> None:
    assert noetl("migrate", "--check", "-", stdin=OLDER.encode()).code == 3
    assert noetl("migrate", "--check", "-", stdin=SOUND.encode()).code == 0
