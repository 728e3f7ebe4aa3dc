import re
import time

import pytest

from noetl.supply.texts import BadJson, json_of, part_of_text, text_of


@pytest.mark.parametrize(
    ("data", "content_type", "text"),
    [
        ("é".encode(), "text/plain", "é"),
        (b"\xe9", "text/plain", "é"),
        (b"\xe9", "text/plain; charset=ISO-8859-1", "é"),
        ("é".encode("utf-16"), 'text/plain; format=flowed; Charset="utf-16"', "é"),
        (b"\xef\xbb\xbfid", "text/csv", "id"),
        (b"aGk=", "text/plain; charset=base64", "aGk="),
        (b"hi", "text/plain; charset=klingon", "hi"),
        (b"\x82\xa0", "text/plain; charset=Shift_JIS", "あ"),
        (b"\xc1", "text/plain; charset=koi8-r", "а"),
        (b"\x80", "text/plain; charset=windows-1252", "€"),
        (b"\x8e", "text/plain; charset=macintosh", "é"),
    ],
)
def test_text_is_read_in_its_charset_or_else_in_what_it_is_mostly_in(data: bytes, content_type: str, text: str) -> None:
    assert text_of(data, content_type) == text


@pytest.mark.parametrize(
    "name", ["idna", "undefined", "unicode_escape", "charmap", "\udce9", "utf\0", "", "8" * 70_000]
)
def test_a_charset_that_is_none_is_not_obeyed(name: str) -> None:
    content_type = f"text/plain; charset={name}"
    assert text_of(b"\\x41\xe9", content_type) == part_of_text(b"\\x41\xe9", content_type) == "\\x41é"


def test_no_charset_makes_a_text_take_long() -> None:
    """Minutes and more where Python's codec for names of hosts is taken for a charset."""
    started = time.monotonic()
    assert len(text_of(b"9ca" + b"a" * 2_000_000, "text/plain; charset=punycode")) == 2_000_003
    assert time.monotonic() - started < 10


def test_a_part_of_a_text_may_end_in_the_middle_of_a_character() -> None:
    assert part_of_text("aé".encode()[:2], "text/plain") == "a\ufffd"
    assert part_of_text(b"\xe9", "text/plain; charset=klingon") == "é"


@pytest.mark.parametrize(
    ("data", "content_type", "value"),
    [
        (b'{"a": 1}', "application/json", {"a": 1}),
        (b"\xef\xbb\xbf[1]", "application/json", [1]),
        (b'["\xe9"]', "application/json; charset=latin-1", ["é"]),
        (b"\n", "application/json", None),
    ],
)
def test_json_is_read_in_its_charset(data: bytes, content_type: str, value: object) -> None:
    assert json_of(data, content_type) == value


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"<h1>", "JSON is malformed: invalid character (byte 0)"),
        (b'{"a": NaN}', "it holds `NaN`, which JSON does not know; `null` stands for what is missing"),
        (b"[1, -Infinity]", "it holds `-Infinity`, which JSON does not know; `null` stands for what is missing"),
        (b"[1.5, 1e400, NaN]", "the number 1e400 in it is too large"),
        (b'["half \\ud800"]', "a text in it has half a character, such as `\\ud800`, and is no Unicode"),
        (b'["\xe9"]', "a text in it is not UTF-8"),
        (b'{"a": [1, 2', "Input data was truncated"),
        (b"[" * 100_000, "nested deeper than 100 levels"),
    ],
)
def test_what_is_no_json_is_said_to_be_none_and_why(data: bytes, reason: str) -> None:
    with pytest.raises(BadJson, match=f"^{re.escape(reason)}$"):
        json_of(data, "application/json")


def test_where_the_reason_cannot_be_looked_for_it_is_told_as_it_was_found() -> None:
    with pytest.raises(BadJson, match="surrogate"):
        json_of(b'["\\udc00", ' + b"[" * 100_000, "application/json")
