import pytest

from noetl.engine.addresses import Address, address_of, login_of, parts_of

WORDS = "so-long-a-text-of-words-only"


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("https://a.example/x/y?b=1&c#d", Address("", "a.example", "/x/y", "b=1&c")),
        (" http://joe:p%40@a.example:81\n", Address("joe:p%40", "a.example:81", "", "")),
        ("postgresql+psycopg://joe:a@b@db/shop", Address("joe:a@b", "db", "/shop", "")),
        ("jdbc:mysql://db?user=joe", Address("", "db", "", "user=joe")),
        ("s3cret-t0ken", None),
        ("see https://a.example", None),
        ("://x", None),
        ("https://", None),
        ("https://a.example\nhttps://b.example", None),
    ],
)
def test_an_address_is_told_from_other_secrets(text: str, address: Address | None) -> None:
    assert address_of(text) == address


@pytest.mark.parametrize(
    ("login", "sent"),
    [("joe:p%40%c3%BC5%", "joe:p@ü5%"), ("j:%FF", "j:\ufffd"), ("t0ken", "t0ken:"), (":t0ken", ":t0ken"), ("", ":")],
)
def test_a_login_is_sent_as_it_is_meant(login: str, sent: str) -> None:
    assert login_of(Address(login, "h", "", "")) == sent


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("https://a.example", {""}),
        ("https://a.example/", {""}),
        ("https://A.example/x", {"", "A.example/x", "a.example/x"}),
        ("https://joe:pw@h", {"pw"}),
        ("https://ghp_T0ken@h", {"ghp_T0ken"}),
        ("https://ghp_T0ken:x-oauth@h", {"ghp_T0ken", "x-oauth"}),
        ("db://postgres:p%40ss@h", {"p%40ss", "p@ss"}),
        ("https://h/services/T0/B4x8Zq1w", {"", "h/services/T0/B4x8Zq1w", "B4x8Zq1w"}),
        ("https://h/?to=2016-10-01", {"", "h/?to=2016-10-01", "to=2016-10-01"}),
        ("https://h?k=abc", {"", "h?k=abc"}),
        ("https://h?a=1&s3cret-k3y", {"", "h?a=1&s3cret-k3y", "a=1&s3cret-k3y", "s3cret-k3y"}),
        (f"https://h?k={WORDS}", {"", f"h?k={WORDS}", f"k={WORDS}", WORDS}),
        ("https://h?k=x%2FY1w2", {"", "h?k=x%2FY1w2", "h?k=x/Y1w2", "k=x%2FY1w2", "k=x/Y1w2", "x%2FY1w2", "x/Y1w2"}),
    ],
)
def test_the_parts_that_look_like_secrets_are_hidden_and_no_others(text: str, parts: set[str]) -> None:
    address = address_of(text)
    assert address is not None
    assert set(parts_of(address)) == parts
