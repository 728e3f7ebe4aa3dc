import pytest

from noetl.expressions.lexer import TOKENS_MAX, Misread, number_value, string_value, tokenize


def words(text: str) -> list[tuple[str, str]]:
    return [(kind, word) for kind, word, _, _ in tokenize(text, 2, text[:2])]


def test_a_dotted_name_is_one_token_and_a_keyword_its_own_kind() -> None:
    assert words("{{ a.b and c }}") == [("name", "a.b"), ("and", "and"), ("name", "c"), ("end", "}}")]


def test_tokens_know_where_they_stand() -> None:
    assert tokenize("{{ ab == 1 -}}", 2, "{{") == [
        ("name", "ab", 3, 5),
        ("==", "==", 6, 8),
        ("number", "1", 9, 10),
        ("end", "-}}", 11, 14),
    ]


def test_braces_that_close_mappings_do_not_end_the_tag() -> None:
    assert [kind for kind, _ in words("{{ {'a': {}} }}")] == ["{", "string", ":", "{", "}", "}", "end"]


def test_the_end_of_another_tag_is_an_operator() -> None:
    with pytest.raises(Misread) as caught:
        tokenize("{{ a %} }}", 2, "{{")
    assert caught.value.message == "`}` closes nothing"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{ a", "`{{` is never closed"),
        ("{% if", "`{%` is never closed"),
        ("{{ 'a }}", "the text that begins here is never closed"),
        ("{{ a & b }}", "unexpected character '&'"),
        ("{{ ) }}", "`)` closes nothing"),
        ("{{ (] }}", "expected `)`, found `]`"),
    ],
)
def test_what_cannot_be_read_is_told(text: str, message: str) -> None:
    with pytest.raises(Misread) as caught:
        tokenize(text, 2, text[:2])
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("{{ a }", "Write `}}` to end the template."),
        ("{{ a ) }}", "Remove it, or open it with `(`."),
        ("{{ (a }}", "Add `)` before it."),
        ("{{ \u2018a\u2019 }}", "Word processors write such quotes; texts stand in straight ones, ' or \"."),
    ],
)
def test_a_slip_of_the_hand_is_told_what_to_write(text: str, hint: str) -> None:
    with pytest.raises(Misread) as caught:
        tokenize(text, 2, "{{")
    assert caught.value.hint == hint


def test_a_tag_of_endless_words_is_refused() -> None:
    with pytest.raises(Misread) as caught:
        tokenize("{{" + " a" * (TOKENS_MAX + 1) + "}}", 2, "{{")
    assert (caught.value.kind, caught.value.start) == ("bound", 0)


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("''", ""),
        ("'a'", "a"),
        (r"'a\'b'", "a'b"),
        (r"'a\nb\t'", "a\nb\t"),
        (r"'\x41B\U0001F600\101'", "AB\U0001f600A"),
        (r"'\d'", r"\d"),
        ("'a\\\nb'", "ab"),
        (r"'\\'", "\\"),
    ],
)
def test_a_text_stands_for_its_escapes(word: str, value: str) -> None:
    assert string_value(word) == value


@pytest.mark.parametrize("word", [r"'\x4'", r"'\u12'", r"'\N{DASH}'", r"'\ud800'", r"'\UFFFFFFFF'"])
def test_an_escape_that_is_no_character_is_refused(word: str) -> None:
    with pytest.raises(ValueError, match=r"digits|character"):
        string_value(word)


@pytest.mark.parametrize(
    ("word", "value"),
    [("0", 0), ("00", 0), ("1_000", 1000), ("0x1F", 31), ("0b11", 3), ("0o17", 15), ("1.5", 1.5), ("2e3", 2000.0)],
)
def test_a_number_has_its_value(word: str, value: float) -> None:
    assert number_value(word) == value
    assert type(number_value(word)) is type(value)


@pytest.mark.parametrize("word", ["010", "0xZZ", "1__0", "1e999", "9" * 500])
def test_a_malformed_or_too_large_number_is_refused(word: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        number_value(word)
