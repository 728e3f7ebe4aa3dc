"""Bytes that are no clean UTF-8 are refused at their place, and other encodings are recognised."""

import pytest

from noetl.playbook.diagnostics import Span
from noetl.playbook.source.read import read_source


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("a: b\nc: d\n".encode("utf-16-le"), "looks like UTF-16"),
        ("a: b\nc: d\n".encode("utf-16-be"), "looks like UTF-16"),
        ("key: \u6328\u62f6\u6328\u62f6\u6328\u62f6\n".encode("utf-16-le"), "looks like UTF-16"),
        ("a: b\nc: d\n".encode("utf-32-le"), "looks like UTF-32"),
        ("a: b\nc: d\n".encode("utf-32-be"), "looks like UTF-32"),
        (b"\0\0\0\0", "a NUL character"),
        (b"\0", "a NUL character"),
        (b"a: some text\0\0\0 and more\n", "a NUL character"),
    ],
)
def test_a_wider_encoding_is_recognised_without_its_mark(data: bytes, message: str) -> None:
    source, [problem] = read_source(data, "book.yaml")
    assert message in problem.message
    assert source.text == ("" if "UTF" in message else data.decode())


@pytest.mark.parametrize(
    ("data", "place", "message"),
    [
        (b"a: b\nc: \xff\n", Span(2, 4, 2, 5), "byte 0xFF is not UTF-8"),
        ("é: ".encode() + b"\xc3", Span(1, 4, 1, 5), "byte 0xC3 is not UTF-8"),
        ("a: b".encode("utf-16"), Span(1, 1, 1, 1), "encoded in UTF-16"),
        (b"\xfe\xff\0a", Span(1, 1, 1, 1), "encoded in UTF-16"),
        ("a: b".encode("utf-32"), Span(1, 1, 1, 1), "encoded in UTF-32"),
        (b"\0\0\xfe\xff\0\0\0a", Span(1, 1, 1, 1), "encoded in UTF-32"),
        (b"a: b\nc: \0d\n", Span(2, 4, 2, 5), "a NUL character"),
        ("a: \x1b[0m", Span(1, 4, 1, 5), "U+001B"),
        ("a: \x84", Span(1, 4, 1, 5), "U+0084"),
        ("a: \ufeff", Span(1, 4, 1, 5), "U+FEFF"),
        ("\ufeff\ufeffa: b", Span(1, 1, 1, 2), "U+FEFF"),
        ("a: \ud800", Span(1, 4, 1, 5), "U+D800"),
    ],
)
def test_what_is_not_clean_utf8_is_refused(data: bytes | str, place: Span, message: str) -> None:
    source, [problem] = read_source(data, "book.yaml")
    assert problem.kind == "encoding"
    assert message in problem.message
    assert problem.span == place
    assert problem.hint
    assert source.root is None
