"""What an unquoted scalar means: the types of YAML 1.2's core schema. And how text is quoted to stay text.

Two deviations keep what people write. A number with a leading zero (`010`) is text, as is an integer
beyond 64 bits: nothing that carries values onward could hold it, and as text every digit survives.
"""

import re

NUMBER_CHARS_MAX = 400
INTEGER_MIN = -(2**63)
INTEGER_MAX = 2**64 - 1

Value = bool | int | float | str | None

_WORDS: dict[str, bool | float | None] = {
    "": None,
    "~": None,
    **dict.fromkeys(("null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
}
_STARTS = frozenset("~nNtTfF+-.0123456789")
_NUMBER = re.compile(
    r"(?P<integer>[-+]?(?:0|[1-9][0-9]*))|0o(?P<octal>[0-7]+)|0x(?P<hexadecimal>[0-9a-fA-F]+)"
    r"|[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
)


def resolve_plain(text: str) -> Value:
    """The value of an unquoted scalar."""
    if text and text[0] not in _STARTS:
        return text
    if text in _WORDS:
        return _WORDS[text]
    if len(text) > NUMBER_CHARS_MAX:
        return text
    match = _NUMBER.fullmatch(text)
    return text if match is None else _number(match, text)


def _number(match: re.Match[str], text: str) -> Value:
    match match.lastgroup:
        case "integer":
            number = int(text)
        case "octal":
            number = int(match["octal"], 8)
        case "hexadecimal":
            number = int(match["hexadecimal"], 16)
        case _:
            return float(text)
    return number if INTEGER_MIN <= number <= INTEGER_MAX else text


def quote(text: str) -> str:
    """The text as a quoted YAML scalar on one line, with as few escapes as possible."""
    if any(_escaped(character) != character for character in text if character not in '"\\'):
        return f'"{escape_double(text)}"'
    if '"' not in text and "\\" not in text:
        return f'"{text}"'
    return "'" + text.replace("'", "''") + "'"


def escape_double(text: str) -> str:
    """The text as it has to stand between double quotes."""
    return "".join(map(_escaped, text))


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character < " " or "\x7f" <= character <= "\x9f":
        return f"\\x{ord(character):02x}"
    return f"\\u{ord(character):04x}" if character in "\u2028\u2029\ufeff\ufffe\uffff" else character


_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0"}
