"""Parses what stands behind the word of a `{% for %}` or `{% set %}` tag."""

from noetl.expressions.parser import CONSTANTS, Parser
from noetl.expressions.syntax import Expression, Target


class HeadParser(Parser):
    """A parser that also knows the names a statement binds."""

    __slots__ = ()

    def target(self) -> Target:
        """The names that a `for` or a `set` binds."""
        is_bracketed = self._accept("(")
        names = [self._bound_name()]
        while self._accept(","):
            if self._kind != "name" and len(names) > 1:
                break
            names.append(self._bound_name())
        if is_bracketed:
            self._expect(")")
        return tuple(names)

    def loop_items(self) -> tuple[Expression, Expression | None]:
        """What stands behind `in` in a `for` tag: the collection and the optional `if`."""
        self._expect("in")
        items = self._listed(self._without_choice)
        test = self._expression() if self._accept("if") else None
        self.finish()
        return items, test

    def assigned(self) -> Expression | None:
        """What stands behind the names of a `set` tag; None opens a block."""
        if self._accept("="):
            return self.whole()
        self.finish()
        return None

    def _bound_name(self) -> str:
        word = self._tokens[self._index][1]
        if self._kind != "name" or word in CONSTANTS:
            raise self._unexpected("a name to bind")
        if "." in word:
            raise self._misread(
                f"`{word}` cannot be bound", hint="Bind a plain name: values do not change in a template."
            )
        self._advance()
        return word
