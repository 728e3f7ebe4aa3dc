"""Cuts the inside of one `{{ … }}` or `{% … %}` into tokens. A dotted name is one token."""

import re
from typing import TypeAlias

Token: TypeAlias = tuple[str, str, int, int]
"""Kind, text, start, end. The kind is `name`, `string`, `number`, `end`, or the operator or keyword itself."""

KEYWORDS = frozenset(("and", "or", "not", "in", "is", "if", "else"))
OPENERS = {"(": ")", "[": "]", "{": "}"}
CLOSERS = frozenset(OPENERS.values())
CURLY_QUOTES = frozenset("\u2018\u2019\u201a\u201c\u201d\u201e")
"""What word processors make of quotes."""

NUMBER_LENGTH_MAX = 400
TOKENS_MAX = 20_000
ENDS = {"}}": "{{", "-}}": "{{", "%}": "{%", "-%}": "{%", "+%}": "{%"}

_TOKEN = re.compile(
    r"""\s*(?:
    ([^\W\d]\w*(?:\.[^\W\d]\w*)*)
    |("[^"\\]*(?:\\.[^"\\]*)*"|'[^'\\]*(?:\\.[^'\\]*)*')
    |([-+]?%\}|-?\}\}|\*\*|//|[=!<>]=|[-+*/%~<>=.,:|()\[\]{}])
    |(0[xX]\w+|0[oO]\w+|0[bB]\w+|(?<![.])[0-9][0-9_]*(?:\.[0-9][0-9_]*)?(?:[eE][-+]?[0-9][0-9_]*)?|[0-9]+)
    )""",
    re.VERBOSE | re.DOTALL,
)
_HINTS = {
    "&": "Write `and`.",
    "!": "Write `not`.",
    "?": "Write `a if condition else b`.",
    "$": "Names stand alone inside the braces, without `$`.",
    ";": "One template holds one expression.",
    "`": "Texts stand in single or double quotes.",
}


_OPENED = {closer: opener for opener, closer in OPENERS.items()}


class Misread(Exception):
    """The text of one tag cannot be read: where, why, and what to write instead."""

    def __init__(self, message: str, start: int, end: int, *, hint: str = "", kind: str = "syntax") -> None:
        super().__init__(message)
        self.message, self.start, self.end, self.hint, self.kind = message, start, end, hint, kind
        self.is_final = False
        """Whether nothing behind it can be read either."""


def tokenize(text: str, position: int, opening: str) -> list[Token]:
    """The tokens from `position` to the end mark that belongs to `opening`, that mark included as the kind `end`."""
    tokens: list[Token] = []
    begin = position - 2
    append, match = tokens.append, _TOKEN.match
    expected: list[str] = []
    while True:
        found = match(text, position)
        if found is None:
            raise _unreadable(text, position, begin, opening)
        if len(tokens) >= TOKENS_MAX:
            raise _endless(begin)
        group = found.lastindex
        start, position = found.span(group or 0)
        word = text[start:position]
        if group == 1:
            append((word if word in KEYWORDS else "name", word, start, position))
        elif group == 3:
            if word in ENDS:
                if not expected and ENDS[word] == opening:
                    append(("end", word, start, position))
                    return tokens
                # Inside brackets `}}` closes two mappings, so only its first character is taken.
                position = start + 1
                word = text[start]
            if word in OPENERS:
                expected.append(OPENERS[word])
            elif word in CLOSERS:
                _close(word, start, expected)
            append((word, word, start, position))
        else:
            append(("string" if group == 2 else "number", word, start, position))


def _endless(begin: int) -> Misread:
    misread = Misread(f"the expression is longer than {TOKENS_MAX:,} words", begin, begin + 2, kind="bound")
    misread.is_final = True
    return misread


def _close(word: str, start: int, expected: list[str]) -> None:
    if not expected:
        hint = "Write `}}` to end the template." if word == "}" else f"Remove it, or open it with `{_OPENED[word]}`."
        raise Misread(f"`{word}` closes nothing", start, start + 1, hint=hint)
    if expected[-1] != word:
        hint = f"Add `{expected[-1]}` before it."
        raise Misread(f"expected `{expected[-1]}`, found `{word}`", start, start + 1, hint=hint)
    expected.pop()


def _unreadable(text: str, position: int, begin: int, opening: str) -> Misread:
    while position < len(text) and text[position].isspace():
        position += 1
    if position >= len(text):
        closing = "}}" if opening == "{{" else "%}"
        hint = f"Add `{closing}` behind the expression."
        misread = Misread(f"`{opening}` is never closed", begin, begin + 2, hint=hint)
        misread.is_final = True
        return misread
    character = text[position]
    if character in "\"'":
        return Misread(
            "the text that begins here is never closed",
            position,
            position + 1,
            hint=f"Add the closing {character}.",
        )
    if character in CURLY_QUOTES:
        hint = "Word processors write such quotes; texts stand in straight ones, ' or \"."
        return Misread(f"found the curly quote {character}", position, position + 1, hint=hint)
    return Misread(f"unexpected character {character!r}", position, position + 1, hint=_HINTS.get(character, ""))


def string_value(word: str) -> str:
    """The text a quoted literal stands for; raises ValueError for an escape that means nothing."""
    inner = word[1:-1]
    return _ESCAPE.sub(_unescape, inner) if "\\" in inner else inner


def _unescape(found: re.Match[str]) -> str:
    digits: str | None = found[1] or found[2] or found[3] or found[4]
    if digits is None:
        letter = found[5]
        if letter in "xuUN":
            raise ValueError(f"\\{letter} needs its digits")
        return _ESCAPES.get(letter, found[0])
    code = int(digits, 8 if found[4] else 16)
    if 0xD800 <= code < 0xE000 or code > 0x10FFFF:
        raise ValueError(f"{found[0]} is not a character")
    return chr(code)


_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{1,3})|(.))", re.DOTALL)
_ESCAPES = {
    "\\": "\\",
    "'": "'",
    '"': '"',
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "b": "\b",
    "f": "\f",
    "v": "\v",
    "a": "\a",
    "\n": "",
}


def number_value(word: str) -> int | float:
    """The number a literal stands for; raises ValueError when it is malformed or too large."""
    if len(word) > NUMBER_LENGTH_MAX:
        raise ValueError("the number is too long")
    if word[:2].lower() in ("0x", "0o", "0b"):
        return int(word, 0)
    if word.replace("_", "").isdecimal():
        if word[0] == "0" and word.strip("0_"):
            raise ValueError("a number does not begin with 0")
        return int(word)
    value = float(word)
    if value == float("inf"):
        raise ValueError("the number is too large")
    return value
