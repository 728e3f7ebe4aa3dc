"""Durations as authors write them: `90s`, `15m`, `24h`, `7d`, `2w`, several in a row, or a number of seconds."""

UNITS_S = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 604_800.0}

DURATION_S_MAX = 100 * 366 * UNITS_S["d"]
"""A century: what is longer is kept for good anyway, and says so by leaving the duration out."""

PATTERN = r"^\+?(([0-9]+(\.[0-9]+)?[smhdw])+|[0-9]+(\.[0-9]+)?)$"
"""What editors check."""


def seconds_of(text: str) -> float | None:
    """The seconds of a duration, more than none; None where it is no duration. A plus is allowed, as in YAML."""
    text = text.removeprefix("+")
    found = _number(text) if text[-1:].isdigit() else _sum(text)
    return found if found is not None and 0 < found <= DURATION_S_MAX else None


def _sum(text: str) -> float | None:
    total, start = 0.0, 0
    for at, char in enumerate(text):
        if char in UNITS_S:
            number = _number(text[start:at])
            if number is None:
                return None
            total += number * UNITS_S[char]
            start = at + 1
    return total if start == len(text) else None


def _number(text: str) -> float | None:
    whole, dot, part = text.partition(".")
    is_number = _is_digits(whole) and (_is_digits(part) if dot else True)
    return float(text) if is_number else None


def _is_digits(text: str) -> bool:
    return text.isascii() and text.isdigit()
