"""Steps through the tokens of one tag, and keeps the bounds on how deep an expression may go."""

from noetl.expressions.lexer import Misread, Token

NESTING_MAX = 40
"""Brackets, signs, `not` and inline `if` inside one another."""
DEPTH_MAX = 100
"""Operators, filters and members applied one upon the other."""

_HINTS = {
    "=": "To compare write `==`.",
    "|": "For `||` write `or`.",
    "else": "`else` belongs to an inline `if`: `a if condition else b`.",
    "end": "Write what is missing before it.",
    "string": "To join texts write `~` between them.",
    "for": "There are no comprehensions; the filters `map`, `select` and `selectattr` do their work.",
    "if": "An inline `if` is written `a if condition else b`.",
}


class Cursor:
    """A position in the tokens of one tag. The last token is always of the kind `end`."""

    __slots__ = ("_depth", "_index", "_kind", "_nesting", "_tokens")

    def __init__(self, tokens: list[Token], index: int = 0) -> None:
        self._tokens = tokens
        self._index = index
        self._kind = tokens[index][0]
        self._nesting = 0
        # The depth of the expression parsed last, so that a chain without brackets is bounded as well.
        self._depth = 0

    def _start(self) -> int:
        """Where the next token begins."""
        return self._tokens[self._index][2]

    def _end(self) -> int:
        """Where the token taken last ends. Unlike a node's own end it counts the brackets around it."""
        return self._tokens[self._index - 1][3]

    def _enter(self) -> None:
        self._nesting += 1
        if self._nesting > NESTING_MAX:
            raise self._misread(f"the expression is nested more than {NESTING_MAX} deep", kind="bound")

    def _deepen(self, depth: int) -> None:
        self._depth = depth + 1
        if depth >= DEPTH_MAX:
            raise self._misread(f"more than {DEPTH_MAX} operations stand one upon the other", kind="bound")

    def _advance(self) -> None:
        self._index += 1
        self._kind = self._tokens[self._index][0]

    def _accept(self, kind: str) -> bool:
        if self._kind != kind:
            return False
        self._advance()
        return True

    def _expect(self, kind: str) -> int:
        """Takes the token that must stand here and gives its end."""
        if self._kind != kind:
            raise self._unexpected(f"`{kind}`")
        end = self._tokens[self._index][3]
        self._advance()
        return end

    def _unexpected(self, expected: str) -> Misread:
        kind, word, _, _ = self._tokens[self._index]
        found = f"the end of the tag `{word}`" if kind == "end" else f"`{word[:40]}`"
        return self._misread(
            f"expected {expected}, found {found}", hint=_HINTS.get(word if kind == "name" else kind, "")
        )

    def _misread(self, message: str, *, hint: str = "", kind: str = "syntax") -> Misread:
        _, _, start, end = self._tokens[self._index]
        return Misread(message, start, end, hint=hint, kind=kind)
