import base64
import html
import json
import time
from itertools import pairwise
from urllib.parse import quote, quote_plus

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noetl.engine.output import Output
from noetl.engine.secrets import MASK, Redactor, entries_read, hideable, masked, texts_of
from noetl.playbook.model import Task

SECRETS = st.text(st.characters(codec="utf-8"), min_size=8, max_size=40)


def hidden(value: object, *secrets: object) -> object:
    return masked(value, frozenset(text for secret in secrets for text in texts_of(secret)))


def test_the_entries_that_a_task_reads_are_named_by_its_templates() -> None:
    fields = {
        "url": "{{ keychain.site }}",
        "headers": [{"x": "{{ keychain.key.value }}"}, 1],
        "plain": "keychain.other",
    }
    task = Task("t", "http", fields=fields, input={"whole": "{{ keychain }}", "other": "{{ ctx.a }}"})
    assert entries_read(task) == {"site", "key"}


def test_a_secret_is_masked_in_keys_and_values_of_data_and_records() -> None:
    output = Output(data={"echo": ["token s3cret-t0ken!", 1], "s3cret-t0ken!": None}, blocks={"http": {"url": "x"}})
    found = hidden(output, "s3cret-t0ken!")
    assert found == Output(data={"echo": ["token ***", 1], "***": None}, blocks={"http": {"url": "x"}})


@pytest.mark.parametrize("secret", ["s3cret-t0ken!", "1234x"])
def test_a_secret_is_masked_though_it_is_all_that_a_mapping_holds(secret: str) -> None:
    assert hidden({"a": secret}, secret) == {"a": MASK}
    assert hidden({secret: 1}, secret) == {MASK: 1}


def test_what_holds_no_secret_stays_the_same_object() -> None:
    data = {"a": ["b"]}
    assert hidden(data, "s3cret-t0ken!") is data
    assert hidden(data) is data


def test_a_secret_is_masked_beside_what_json_cannot_say() -> None:
    assert hidden(["s3cret-t0ken!", "\ud800"], "s3cret-t0ken!") == [MASK, "\ud800"]


def test_a_short_secret_is_not_masked() -> None:
    assert hidden("a is 1", "a") == "a is 1"


def test_basic_authentication_is_masked_whole() -> None:
    header = "Basic " + base64.b64encode(b"joe:s3cret").decode()
    assert hidden(header, {"username": "joe", "password": "s3cret"}) == f"Basic {MASK}"


@pytest.mark.parametrize(
    ("form", "secret"),
    [
        ("p%40ss%2Fword%20%261", "p@ss/word &1"),
        ("p%40ss%2fWord", "p@ss/Word"),
        ("a%26b%3D", "a&b="),
        (quote("пароль"), "пароль"),
        (base64.b64encode(b"abcdefghi").decode(), "abcdefghi"),
        (base64.b64encode(b"abcdef").decode(), "abcdef"),
    ],
    ids=["address", "small digits", "four signs", "letters of others", "base64", "the shortest base64"],
)
def test_a_form_of_a_secret_is_masked_whole(form: str, secret: str) -> None:
    assert hidden(form, secret) == MASK


@pytest.mark.parametrize(
    "entry", [{"username": "orders", "password": "Sup3rSecret!"}, {"header": "orders", "value": "Sup3rSecret!"}]
)
def test_the_name_beside_a_secret_is_no_secret(entry: dict[str, object]) -> None:
    data = {"orders": ["Sup3rSecret!", "orders"]}
    assert masked(data, frozenset(texts_of(entry))) == {"orders": [MASK, "orders"]}


@pytest.mark.parametrize("entry", [{"username": "orders"}, {"header": "orders"}, {"header": "orders", "password": "x"}])
def test_a_name_that_stands_alone_may_be_a_secret(entry: dict[str, object]) -> None:
    assert masked("orders", frozenset(texts_of(entry))) == MASK


def test_too_little_base64_to_be_sure_of_is_not_masked() -> None:
    assert hidden("YWJjZA==", "abcd") == "YWJjZA=="


def test_every_text_of_an_entry_is_a_secret() -> None:
    found = set(texts_of({"username": "abcdefgh", "inner": {"key": "ijklmnop"}, "port": 5432}))
    assert {"abcdefgh", "ijklmnop"} <= found
    assert not any(":" in text for text in found)


def test_what_is_nested_deeply_is_masked_whole_where_it_holds_a_secret() -> None:
    def nested(value: object, depth: int) -> object:
        for _ in range(depth):
            value = [value]
        return value

    assert "s3cret" not in str(hidden({"a": nested("my s3cret", 900), "b": 1}, "s3cret"))
    assert hidden({"a": nested("my s3cret", 50), "b": 1}, "s3cret") == {"a": nested(f"my {MASK}", 50), "b": 1}
    assert hidden([nested("fine", 900), "s3cret"], "s3cret") == [nested("fine", 900), MASK]
    assert MASK in str(hidden(nested({"a": {"s3cret": nested(1, 3_000)}}, 101), "s3cret"))


def test_texts_in_lists_and_long_numbers_are_secrets() -> None:
    entry = {"keys": ["listed-secret", {"deep": "deeper-secret"}], "pin": 90817263, "rate": 3.14159265, "port": 5432}
    told = {"a": "listed-secret deeper-secret", "b": [90817263, "pin 90817263"], "c": 3.14159265, "d": [5432, "5432"]}
    expected = {"a": f"{MASK} {MASK}", "b": [MASK, f"pin {MASK}"], "c": MASK, "d": [5432, "5432"]}
    assert masked(told, frozenset(texts_of(entry))) == expected


def test_a_secret_is_hidden_without_the_spaces_and_line_ends_around_it() -> None:
    assert hidden("[s3cret-token]", " s3cret-token\n") == f"[{MASK}]"


def test_each_line_of_a_secret_is_hidden_by_itself() -> None:
    secret = "-----BEGIN KEY-----\r\nMIIEpAIBAAKCAQEA\r\nend\r\n-----END KEY-----\n"
    assert hidden("see MIIEpAIBAAKCAQEA, the end", secret) == f"see {MASK}, the end"


def test_base64_in_lines_is_hidden() -> None:
    secret = "".join(f"long secret {number}, " for number in range(20))
    for encoded in (base64.encodebytes(secret.encode()), base64.encodebytes(f"{secret}\n".encode())):
        rest = str(hidden(encoded.decode(), secret)).replace(MASK, "").split()
        assert all(len(line) < 8 for line in rest)


@pytest.mark.parametrize("secret", ['tök"en\\s3', "s3cret \U0001f511 key", "a&b<c>'d'\"e\""])
def test_a_secret_is_hidden_inside_json_of_every_kind_and_inside_html(secret: str) -> None:
    forms = [
        json.dumps(secret),
        json.dumps(json.dumps(secret)),
        json.dumps({"a": msgspec.json.encode(secret).decode()}),
    ]
    pages = [html.escape(secret), html.escape(secret, quote=False), html.escape(secret).replace("&#x27;", "&#39;")]
    assert all(MASK in str(hidden(form, secret)) for form in forms)
    assert hidden(pages, secret) == [MASK] * len(pages)


HOOK = "https://joe:hunter2%40pass@Hooks.example:81/services/x/../T0p5ecret?sig=XyZ%2BsecretXyZ==&v=1#top"


@pytest.mark.parametrize(
    ("shown", "left"),
    [
        (HOOK, MASK),
        ("https://hooks.example:81/services/x/../T0p5ecret?sig=XyZ%2BsecretXyZ==&v=1", f"https://{MASK}"),
        ("http://other.example/new?sig=XyZ%2BsecretXyZ==&v=1", f"http://other.example/new?{MASK}"),
        ("/services/T0p5ecret?v=1&sig=XyZ%2BsecretXyZ%3D%3D", f"/services/{MASK}?v=1&sig={MASK}"),
        ({"sig": "XyZ+secretXyZ=="}, {"sig": MASK}),
        (f"Basic {base64.b64encode(b'joe:hunter2@pass').decode()}", f"Basic {MASK}"),
        ("no password hunter2@pass for joe", f"no password {MASK} for joe"),
        ("services of joe", "services of joe"),
    ],
)
def test_a_secret_that_is_an_address_is_hidden_in_what_is_made_of_it(shown: object, left: object) -> None:
    assert hidden(shown, HOOK) == left


@pytest.mark.parametrize("address", ["https://a.example/x", "https://j:p@a.example/x"])
def test_a_login_that_is_hardly_there_hides_nothing(address: str) -> None:
    encoded = [base64.b64encode(login).decode() for login in (b":", b"j:p")]
    assert hidden(encoded, address) == encoded
    assert not {"", "p"} & set(texts_of(address))


def test_a_secret_is_hidden_in_small_and_large_letters_where_it_is_long_enough() -> None:
    assert hidden("x-s3cret-name: S3CRET-NAME", "S3cret-Name") == f"x-{MASK}: {MASK}"
    assert hidden("the city of YORK", "York") == "the city of YORK"


@pytest.mark.parametrize("secret", ['p4ss "w0rd" \'q', "it's 5ecret", 'a "5ecret"', "back\\'slash", "t4b\there \x00"])
def test_a_secret_is_hidden_in_what_python_prints(secret: str) -> None:
    printed = [
        repr(secret),
        repr([secret]),
        repr(KeyError(secret)),
        repr(f"'{secret}"),
        repr(f'"{secret}'),
        ascii(secret),
    ]
    for text in printed:
        assert MASK in str(hidden(text, secret))
        assert "5ecret" not in str(hidden(text, secret))


def test_what_is_neither_text_nor_mapping_holds_no_secret() -> None:
    assert list(texts_of(None)) == []


@given(SECRETS, st.binary(max_size=5), st.binary(max_size=5))
def test_no_core_of_a_secret_is_left_in_base64(secret: str, before: bytes, after: bytes) -> None:
    data = before + secret.encode() + after
    for encoded in (base64.b64encode(data).decode(), base64.urlsafe_b64encode(data).decode()):
        assert MASK in str(hidden(encoded, secret))


@given(SECRETS)
def test_no_form_of_a_secret_is_left_in_an_address_or_in_json(secret: str) -> None:
    forms = [quote(secret), quote(secret, safe=""), quote_plus(secret), msgspec.json.encode(secret).decode()[1:-1]]
    assert hidden(forms, secret) == [MASK] * len(forms)


@st.composite
def printed(draw: st.DrawFn) -> tuple[frozenset[str], list[str]]:
    """Secrets that overlap themselves and each other, and pieces of text with parts of them."""
    secrets = draw(st.frozensets(st.text("ab", min_size=4, max_size=24), max_size=4))
    parts = [secret[:size] for secret in sorted(secrets) for size in range(1, len(secret) + 1)]
    text = st.sampled_from(parts) | st.text("abc", max_size=6) if parts else st.text("abc", max_size=6)
    whole = "".join(draw(st.lists(text, max_size=12)))
    cuts = sorted(draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    return secrets, [whole[start:stop] for start, stop in pairwise([0, *cuts, len(whole)])]


def redacted(secrets: frozenset[str], pieces: list[str]) -> str:
    redactor = Redactor(hideable(secrets), MASK)
    return "".join([*map(redactor.feed, pieces), redactor.end()])


@given(printed())
def test_a_redactor_hides_the_same_however_the_text_is_cut(found: tuple[frozenset[str], list[str]]) -> None:
    secrets, pieces = found
    shown = redacted(secrets, pieces)
    assert not any(secret in shown for secret in secrets)
    assert shown == redacted(secrets, ["".join(pieces)]) == redacted(secrets, list("".join(pieces)))
    assert shown == first_and_longest_hidden("".join(pieces), hideable(secrets))


def first_and_longest_hidden(text: str, hidden: tuple[str, ...]) -> str:
    """What a redactor should come to, found slowly: at each place the longest secret that begins there."""
    shown, at = "", 0
    while at < len(text):
        size = next((len(secret) for secret in hidden if text.startswith(secret, at)), 0)
        shown += MASK if size else text[at]
        at += size or 1
    return shown


def test_a_text_that_seems_to_begin_a_secret_everywhere_is_hidden_and_shown_as_any_other() -> None:
    secret = "a" * 300 + "b"
    pieces = ["a" * 250 + "x" + "a" * 10, "a" * 290, "b", "a" * 150]
    redactor = Redactor((secret,), MASK)
    shown = [*map(redactor.feed, pieces), redactor.end()]
    assert "".join(shown) == "a" * 250 + "x" + MASK + "a" * 150
    assert len(shown[0]) >= 100


def test_a_redactor_takes_no_longer_for_a_long_secret() -> None:
    """A minute and more where every length of every form is tried."""
    key = "\n".join(f"{number:x}".rjust(8, "k") * 8 for number in range(400))
    secrets = frozenset(texts_of(key))
    started = time.monotonic()
    assert redacted(secrets, key.splitlines(keepends=True)) == MASK
    assert redacted(secrets, ["a line of no interest\n"] * 500) == "a line of no interest\n" * 500
    assert time.monotonic() - started < 20


def test_a_redactor_holds_back_no_more_than_a_beginning() -> None:
    redactor = Redactor((b"secret",), b"***")
    assert redactor.feed(b"plain") == b"plain"
    assert redactor.feed(b"a sec") == b"a "
    assert redactor.feed(b"ond secret") == b"second ***"
    assert redactor.feed(b"sec") == b""
    assert redactor.end() == b"sec"
    assert redactor.end() == b""


def test_a_secret_that_ends_where_another_may_begin_is_hidden() -> None:
    redactor = Redactor(("xxab", "abcd"), MASK)
    assert redactor.feed("-xxab") + redactor.feed("cd-") + redactor.end() == f"-{MASK}cd-"


@pytest.mark.parametrize("secret", ["xxxa", "xxab", "xabc"])
def test_a_secret_is_hidden_however_much_of_it_another_may_begin_with(secret: str) -> None:
    redactor = Redactor((secret, "abcd"), MASK)
    assert redactor.feed(f"-{secret}") + redactor.feed("-") + redactor.end() == f"-{MASK}-"


def test_a_secret_inside_the_beginning_of_a_longer_one_waits_for_it() -> None:
    redactor = Redactor(("abcdefgh", "bcde"), MASK)
    assert redactor.feed("abcde") + redactor.feed("fgh") + redactor.end() == MASK


def test_a_redactor_takes_no_longer_for_many_secrets_in_a_piece() -> None:
    """A minute and more where each one found costs a look at all the rest."""
    redactor = Redactor(hideable(frozenset(texts_of("s3cret-k&y"))), MASK)
    started = time.monotonic()
    shown = redactor.feed("s3cret-k&y," * 60_000) + redactor.end()
    assert shown == f"{MASK}," * 60_000
    assert time.monotonic() - started < 20


def test_a_secret_in_large_data_takes_no_longer_for_a_long_key() -> None:
    """Half a minute and more where each form of the key is looked for in each text."""
    key = "\n".join(f"{number:x}".rjust(8, "k") * 8 for number in range(400))
    rows: list[object] = [{"id": number, "name": "of no interest"} for number in range(100_000)]
    started = time.monotonic()
    assert hidden([*rows, key.splitlines()[7]], key) == [*rows, MASK]
    assert time.monotonic() - started < 10


def test_a_redactor_without_secrets_holds_nothing_back() -> None:
    assert Redactor((), MASK).feed("ab") == "ab"


def test_what_an_entry_holds_beside_texts_is_no_secret() -> None:
    assert list(texts_of({"port": 5432, "none": None})) == []
    assert hidden("5432", 5432) == "5432"


def test_a_secret_that_overlaps_itself_is_hidden_wherever_the_text_is_cut() -> None:
    redactor = Redactor(("babb",), MASK)
    assert "".join([*map(redactor.feed, ["ba", "b", "babbab", "b"]), redactor.end()]) == f"{MASK}ab{MASK}"


def test_a_secret_that_another_begins_with_waits_for_the_longer_one_and_is_hidden_at_the_end() -> None:
    redactor = Redactor(("abcdef", "abcd"), MASK)
    assert redactor.feed("abcd") == ""
    assert redactor.feed("ef!") == f"{MASK}!"
    assert redactor.feed("-abcd") == "-"
    assert redactor.end() == MASK
