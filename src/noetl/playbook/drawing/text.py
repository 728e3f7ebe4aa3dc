"""Text for drawings: shortening, and how wide a line will be, from a small table of character widths."""

ELLIPSIS = "…"

# Widths in thousandths of the font size, close to Helvetica and Arial, on the generous side for wider fonts.
_GROUPS = (
    (250, "ijl|'!,.:;`"),
    (330, 'ft()[]{}/\\Ir-" '),
    (400, "*°"),
    (560, "sckvxyzJ"),
    (600, "abdeghnopqu0123456789_?$#LT+=<>~^"),
    (720, "ABEFKPSVXYZ&RCDHNU"),
    (810, "GOQw"),
    (900, "mM%W@"),
)
_WIDTHS = {character: width for width, characters in _GROUPS for character in characters}
_LETTER = 640
_WIDE = 1_050
_FIRST_WIDE = "\u1100"
_BOLD = 1.07
_MONO = 0.605


def sans_width(text: str, size: float) -> float:
    total = sum(_WIDTHS.get(character, _WIDE if character >= _FIRST_WIDE else _LETTER) for character in text)
    return total * size / 1_000


def bold_width(text: str, size: float) -> float:
    return sans_width(text, size) * _BOLD


def mono_width(text: str, size: float) -> float:
    units = sum(1.7 if character >= _FIRST_WIDE else 1.0 for character in text)
    return units * size * _MONO


def shorten(text: str, length: int) -> str:
    """One line of at most `length` characters."""
    line = one_line(text)
    return line if len(line) <= length else line[: length - 1].rstrip() + ELLIPSIS


def one_line(text: str) -> str:
    """White space and control characters become single blanks."""
    return " ".join("".join(character if character.isprintable() else " " for character in text).split())
