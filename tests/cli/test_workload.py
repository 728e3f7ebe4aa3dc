"""What a person gives on the command line becomes the workload they meant, or a word about what is wrong with it."""

from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from noetl.cli.console import Console, Stopped
from noetl.cli.workload import refuse_elements, undeclared, workload_of
from tests.cli.invoke import Screen


def given(*values: str, payload: str | None = None, stdin: bytes = b"") -> dict[str, object]:
    console = Console(
        Screen(is_terminal=False), Screen(is_terminal=False), TextIOWrapper(BytesIO(stdin)), allows_colour=False
    )
    return workload_of(payload, values, console)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", ""),
        (" ", " "),
        ("3", 3),
        (" 3 ", 3),
        ("1e3", 1000.0),
        ("010", "010"),
        ("12345678901234567890123", 12345678901234567890123),
        (" -12345678901234567890123", -12345678901234567890123),
        ("-09", "-09"),
        ("٣", "٣"),
        ("true", True),
        ("null", None),
        ("~", None),
        ("ann", "ann"),
        (" ann", " ann"),
        ("a=b", "a=b"),
        ('"3"', "3"),
        ('["a", 1]', ["a", 1]),
        ('{"a": {"b": 1}}', {"a": {"b": 1}}),
        ("[not json", "[not json"),
    ],
)
def test_a_value_has_the_type_that_its_text_shows(text: str, value: object) -> None:
    assert given(f"key={text}") == {"key": value}


@pytest.mark.parametrize("text", ["1e400", "-1e400", ".inf", ".nan", "[1e400]", '{"a": 1e400}'])
def test_a_number_that_is_out_of_range_is_refused(text: str) -> None:
    with pytest.raises(Stopped, match=r"noetl run: --set q=.* has a number that is out of range"):
        given(f"q={text}")


def test_a_value_reaches_inside_the_payload_and_wins_over_it() -> None:
    assert given("a.b=2", "c.d=3", payload='{"a": {"b": 1, "x": 0}, "c": 1}') == {"a": {"b": 2, "x": 0}, "c": {"d": 3}}


@pytest.mark.parametrize("value", ["a.b.0=9", "a.b.0.c=9", "a.b.x=9"])
def test_a_value_does_not_reach_into_a_list_of_the_payload(value: str) -> None:
    with pytest.raises(Stopped) as stopped:
        given(value, payload='{"a": {"b": [1, 2]}}')
    told = "noetl run: `a.b` is a list, and --set reaches into mappings alone\n  = give it whole: --set 'a.b=[1,2]'"
    assert stopped.value.message == told


@pytest.mark.parametrize(
    ("path", "items", "sample"), [("a.b", [1, 2], "[1,2]"), ("b", ["'"], "[…]"), ("b", [1] * 999, "[…]")]
)
def test_a_value_does_not_reach_into_a_list_that_the_playbook_declares(
    path: str, items: list[object], sample: str
) -> None:
    declared: dict[str, object] = {"a": {"b": items}} if path == "a.b" else {"b": items}
    with pytest.raises(Stopped) as stopped:
        refuse_elements(given("n=1", f"{path}.0=9"), declared)
    assert stopped.value.message.endswith(
        f"`{path}` is a list, and --set reaches into mappings alone\n  = give it whole: --set '{path}={sample}'"
    )


def test_a_mapping_may_take_the_place_of_a_list() -> None:
    values = {"a": {"b": 1}, "c": {}, "d": {"0": 1}, "e": [1]}
    refuse_elements(values, {"a": [1], "c": [1], "d": {"0": 2}, "e": [2]})
    assert values["a"] == {"b": 1}


@pytest.mark.parametrize("value", ["key", "=3", "a..b=3", ".a=3"])
def test_a_value_without_a_key_is_refused(value: str) -> None:
    with pytest.raises(Stopped, match=r"--set takes KEY=VALUE or A.B=VALUE"):
        given(value)


def test_a_payload_comes_from_its_text_a_file_or_standard_input(tmp_path: Path) -> None:
    (tmp_path / "w.json").write_text('{"a": 2}', "utf-8")
    assert given(payload='{"a": 1}') == {"a": 1}
    assert given(payload=f"@{tmp_path / 'w.json'}") == {"a": 2}
    assert given(payload="-", stdin=b'{"a": 3}') == {"a": 3}


def test_a_payload_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "w.json").write_bytes(b'\xef\xbb\xbf{"a": 2}')
    assert given(payload=f"@{tmp_path / 'w.json'}") == {"a": 2}
    with pytest.raises(Stopped, match="is empty"):
        given(payload="-", stdin=b"\xef\xbb\xbf\n")


@pytest.mark.parametrize(
    ("payload", "told"),
    [
        ("", "--payload is empty"),
        ("  ", "--payload is empty"),
        ("-", "the payload in standard input is empty"),
        ("{", "the value of --payload is not JSON"),
        ('{"a": 1e400}', "the value of --payload is not JSON: Number out of range"),
        ("null", "must be an object with the keys of `workload`, and is null"),
        ("true", "and is true or false"),
        ("3", "and is a number"),
        ("3.5", "and is a number"),
        ('"a"', "and is text"),
        ("[]", "and is a list"),
        ("@", "--payload @ needs the name of a file"),
        (__file__, f"is not JSON, but the name of a file; write --payload @{__file__}"),
        ("@no/such/file", "--payload @no/such/file cannot be read: no such file or directory"),
    ],
)
def test_a_payload_that_is_none_is_refused_in_plain_words(payload: str, told: str) -> None:
    with pytest.raises(Stopped) as stopped:
        given(payload=payload)
    assert told in stopped.value.message


def test_keys_that_nobody_declares_or_reads_are_found_with_those_that_are_there() -> None:
    declared = {"n": 1, "limits": {"rows": 1}, "free": {}}
    found = undeclared({"nn": 1, "limits": {"row": 2, "rows": 3}, "free": {"a": 1}, "n": {"x": 1}}, declared, [])
    assert dict(found) == {"nn": ["n", "limits", "free"], "limits.row": ["limits.rows"]}


def test_a_key_that_a_template_reads_is_as_good_as_declared() -> None:
    given_keys = {"a": {"b": {"c": 1}}, "x": 1, "n": {"y": 1}}
    assert [key for key, _ in undeclared(given_keys, {"n": {"m": 1}}, [("a", "b"), ("n",)])] == ["x"]
    assert dict(undeclared({"x": 1}, {}, [("y", "z")])) == {"x": ["y"]}
    assert list(undeclared({"x": 1}, {"n": 1}, [("a",), ()])) == []
