import pytest

from noetl.supply.texts import NOT_JSON, json_of, part_of_text, text_of


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
    ],
)
def test_text_is_read_in_its_charset_or_else_in_what_it_is_mostly_in(data: bytes, content_type: str, text: str) -> None:
    assert text_of(data, content_type) == text


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


@pytest.mark.parametrize("data", [b"<h1>", b'["\xe9"]', b"NaN", b"[" * 100_000])
def test_what_is_no_json_is_said_to_be_none(data: bytes) -> None:
    with pytest.raises(NOT_JSON):
        json_of(data, "application/json")
