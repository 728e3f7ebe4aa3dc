"""Parses the tokens of one tag into an expression, by operator precedence.

It knows the grammar, not which filters exist."""

from collections.abc import Callable
from typing import TypeAlias

from noetl.expressions.cursor import Cursor
from noetl.expressions.lexer import Misread, Token, number_value, string_value
from noetl.expressions.syntax import (
    Arguments,
    Attribute,
    Binary,
    Call,
    Choice,
    Compare,
    Concat,
    Const,
    DictOf,
    Expression,
    Filter,
    Function,
    Item,
    ListOf,
    Logic,
    Method,
    Not,
    Path,
    Sign,
    Slice,
    Test,
)

Part: TypeAlias = Callable[[], Expression]
Conversion: TypeAlias = Callable[[str], str | int | float]

_POWERS = {
    "or": 1, "and": 2,
    "in": 4, "not": 4, "==": 4, "!=": 4, "<": 4, "<=": 4, ">": 4, ">=": 4,
    "+": 5, "-": 5, "~": 6, "*": 7, "/": 7, "//": 7, "%": 7, "**": 8,
}  # fmt: skip
_LOGIC_MAX, _NOT, _COMPARISON, _CONCAT, _UNARY = 2, 3, 4, 6, 9
CONSTANTS = {"true": True, "True": True, "false": False, "False": False, "none": None, "None": None}
_TEST_ARGUMENTS = frozenset(("name", "string", "number", "[", "{"))


class Parser(Cursor):
    """One pass over the tokens of one tag. `calls` collects every filter, test, method and function used."""

    __slots__ = ("calls",)

    def __init__(self, tokens: list[Token], calls: list[Call], index: int = 0) -> None:
        super().__init__(tokens, index)
        self.calls = calls

    def whole(self) -> Expression:
        """One expression that fills the tag. Commas outside brackets make a list, as in Jinja2."""
        node = self._listed()
        self.finish()
        return node

    def finish(self) -> None:
        if self._kind != "end":
            raise self._unexpected("an operator or the end of the tag")

    def _listed(self, part: Part | None = None) -> Expression:
        parse, start = part or self._expression, self._start()
        first = parse()
        if self._kind != ",":
            return first
        items, depth = [first], self._depth
        while self._accept(","):
            if self._kind in ("end", ")", "if"):
                break
            items.append(parse())
            depth = max(depth, self._depth)
        self._deepen(depth)
        return ListOf(start, self._end(), tuple(items))

    def _without_choice(self) -> Expression:
        return self._binary(1)

    def _expression(self) -> Expression:
        self._enter()
        start = self._start()
        node = self._binary(1)
        while self._accept("if"):
            depth = self._depth
            test = self._binary(1)
            depth = max(depth, self._depth)
            otherwise = self._expression() if self._accept("else") else None
            self._deepen(max(depth, self._depth))
            node = Choice(start, self._end(), test, node, otherwise)
        self._nesting -= 1
        return node

    def _binary(self, power_min: int) -> Expression:
        start = self._start()
        if self._kind == "not" and power_min <= _NOT:
            node = self._negation()
        else:
            node = self._unary(has_filters=True)
        while True:
            power = _POWERS.get(self._kind, 0)
            if power < power_min or power == 0:
                return node
            if power <= _LOGIC_MAX:
                node = self._logic(start, node, power)
            elif power == _COMPARISON:
                node = self._comparison(start, node)
            elif power == _CONCAT:
                node = self._concat(start, node)
            else:
                operator, depth = self._kind, self._depth
                self._advance()
                right = self._binary(power + 1)
                self._deepen(max(depth, self._depth))
                node = Binary(start, self._end(), operator, node, right)

    def _negation(self) -> Expression:
        start = self._start()
        self._advance()
        self._enter()
        operand = self._binary(_NOT)
        self._nesting -= 1
        self._deepen(self._depth)
        return Not(start, self._end(), operand)

    def _logic(self, start: int, first: Expression, power: int) -> Expression:
        operator = self._kind
        parts = self._series(first, operator, power)
        return Logic(start, self._end(), operator, parts)

    def _concat(self, start: int, first: Expression) -> Expression:
        parts = self._series(first, "~", _CONCAT)
        return Concat(start, self._end(), parts)

    def _series(self, first: Expression, operator: str, power: int) -> tuple[Expression, ...]:
        parts, depth = [first], self._depth
        while self._accept(operator):
            parts.append(self._binary(power + 1))
            depth = max(depth, self._depth)
        self._deepen(depth)
        return tuple(parts)

    def _comparison(self, start: int, first: Expression) -> Expression:
        rest: list[tuple[str, Expression]] = []
        depth = self._depth
        while _POWERS.get(self._kind) == _COMPARISON:
            operator = self._kind
            self._advance()
            if operator == "not":
                self._expect("in")
                operator = "not in"
            rest.append((operator, self._binary(_COMPARISON + 1)))
            depth = max(depth, self._depth)
        self._deepen(depth)
        return Compare(start, self._end(), first, tuple(rest))

    def _unary(self, *, has_filters: bool) -> Expression:
        start = self._start()
        node = self._sign() if self._kind in ("-", "+") else self._primary()
        if self._kind in (".", "[", "("):
            node = self._members(start, node)
        return self._filtered(start, node) if has_filters and self._kind in ("|", "is", "(") else node

    def _sign(self) -> Expression:
        operator, _, start, _ = self._tokens[self._index]
        self._advance()
        self._enter()
        operand = self._unary(has_filters=False)
        self._nesting -= 1
        self._deepen(self._depth)
        return Sign(start, self._end(), operator, operand)

    def _primary(self) -> Expression:
        kind, word, start, end = self._tokens[self._index]
        if kind == "name":
            self._advance()
            return self._named(word, start, end)
        self._depth = 0
        if kind == "string":
            return self._string()
        if kind == "number":
            self._advance()
            return Const(start, end, self._literal(number_value, word, start, end))
        if kind == "(":
            return self._group()
        if kind == "[":
            return self._list()
        if kind == "{":
            return self._dict()
        raise self._unexpected("an expression")

    def _named(self, word: str, start: int, end: int) -> Expression:
        names = word.split(".")
        root = names[0]
        self._depth = 0
        if root in CONSTANTS:
            node: Expression = Const(start, start + len(root), CONSTANTS[root])
            for name in names[1:]:
                self._deepen(self._depth)
                if self._kind == "(" and node.end + 1 + len(name) == end:
                    return self._method(start, node, name, node.end + 1)
                node = Attribute(start, node.end + 1 + len(name), node, name, node.end + 1)
            return node
        if self._kind != "(":
            return Path(start, end, root, tuple(names[1:]))
        if len(names) == 1:
            return self._function(root, start)
        name = names.pop()
        return self._method(start, Path(start, end - len(name) - 1, root, tuple(names[1:])), name, end - len(name))

    def _string(self) -> Expression:
        _, _, start, end = self._tokens[self._index]
        parts: list[str] = []
        while self._kind == "string":
            _, word, begin, end = self._tokens[self._index]
            parts.append(str(self._literal(string_value, word, begin, end)))
            self._advance()
        return Const(start, end, "".join(parts))

    def _literal(self, convert: Conversion, word: str, start: int, end: int) -> str | int | float:
        try:
            return convert(word)
        except ValueError as error:
            raise Misread(f"cannot read {word[:40]}: {str(error) or 'malformed'}", start, end) from None

    def _group(self) -> Expression:
        start = self._start()
        self._advance()
        if self._kind == ")":
            return ListOf(start, self._expect(")"), ())
        node = self._listed()
        self._expect(")")
        return node

    def _list(self) -> Expression:
        start = self._start()
        self._advance()
        items, depth = [], 0
        while self._kind != "]":
            items.append(self._expression())
            depth = max(depth, self._depth)
            if not self._accept(","):
                break
        end = self._expect("]")
        self._deepen(depth)
        return ListOf(start, end, tuple(items))

    def _dict(self) -> Expression:
        start = self._start()
        self._advance()
        pairs, depth = [], 0
        while self._kind != "}":
            key = self._expression()
            depth = max(depth, self._depth)
            self._expect(":")
            pairs.append((key, self._expression()))
            depth = max(depth, self._depth)
            if not self._accept(","):
                break
        end = self._expect("}")
        self._deepen(depth)
        return DictOf(start, end, tuple(pairs))

    def _members(self, start: int, node: Expression) -> Expression:
        while True:
            kind = self._kind
            if kind == ".":
                node = self._attribute(start, node)
            elif kind == "[":
                node = self._subscript(start, node)
            elif kind == "(":
                raise self._not_callable(node)
            else:
                return node

    def _attribute(self, start: int, node: Expression) -> Expression:
        self._advance()
        kind, word, name_start, end = self._tokens[self._index]
        if kind == "number" and word.isdecimal():
            self._advance()
            self._deepen(self._depth)
            return Item(start, end, node, Const(name_start, end, int(word)))
        if not word.replace(".", "_").isidentifier() or kind == "string":
            raise self._unexpected("a name behind the dot")
        self._advance()
        for name in word.split("."):
            self._deepen(self._depth)
            if self._kind == "(" and name_start + len(name) == end:
                return self._method(start, node, name, name_start)
            node = Attribute(start, name_start + len(name), node, name, name_start)
            name_start += len(name) + 1
        return node

    def _subscript(self, start: int, node: Expression) -> Expression:
        depth = self._depth
        self._advance()
        parts: list[Expression | None] = [None]
        while self._kind != "]":
            if self._accept(":"):
                parts.append(None)
            elif parts[-1] is None:
                parts[-1] = self._expression()
                depth = max(depth, self._depth)
            else:
                raise self._unexpected("`]`")
        self._deepen(depth)
        if len(parts) > 3:
            raise self._misread("a slice has at most three parts")
        if len(parts) == 1:
            if parts[0] is None:
                raise self._unexpected("a key or an index")
            return Item(start, self._expect("]"), node, parts[0])
        first, last, step = (*parts, None)[:3]
        return Slice(start, self._expect("]"), node, first, last, step)

    def _method(self, start: int, target: Expression, name: str, name_start: int) -> Expression:
        arguments = self._arguments()
        method = Method(start, arguments.end, target, name, name_start, arguments)
        self.calls.append(method)
        return method

    def _function(self, name: str, start: int) -> Expression:
        arguments = self._arguments()
        function = Function(start, arguments.end, name, arguments)
        self.calls.append(function)
        return function

    def _arguments(self) -> Arguments:
        depth, start = self._depth, self._start()
        self._advance()
        positional: list[Expression] = []
        named: list[tuple[str, Expression]] = []
        while self._kind != ")":
            if self._kind in ("*", "**"):
                raise self._misread("arguments cannot be spread with `*`", hint="Write each argument out.")
            if self._kind == "name" and self._tokens[self._index + 1][0] == "=":
                word = self._tokens[self._index][1]
                self._advance()
                self._advance()
                named.append((word, self._expression()))
            elif named:
                raise self._misread("an argument without a name stands behind one with a name")
            else:
                positional.append(self._expression())
            depth = max(depth, self._depth)
            if not self._accept(","):
                break
        end = self._expect(")")
        self._deepen(depth)
        return Arguments(start, end, tuple(positional), tuple(named))

    def _filtered(self, start: int, node: Expression) -> Expression:
        while True:
            if self._kind == "|":
                node = self._filter(start, node)
            elif self._kind == "is":
                node = self._test(start, node)
            elif self._kind == "(":
                raise self._not_callable(node)
            else:
                return node

    def _filter(self, start: int, node: Expression) -> Expression:
        self._advance()
        kind, name, name_start, end = self._tokens[self._index]
        if kind != "name":
            raise self._unexpected("the name of a filter")
        self._advance()
        self._deepen(self._depth)
        arguments = self._arguments() if self._kind == "(" else Arguments(end, end)
        node = Filter(start, arguments.end, node, name, name_start, arguments)
        self.calls.append(node)
        return node

    def _test(self, start: int, node: Expression) -> Expression:
        self._advance()
        is_negated = self._accept("not")
        kind, name, name_start, end = self._tokens[self._index]
        if kind not in ("name", "in"):
            raise self._unexpected("the name of a test")
        self._advance()
        self._deepen(self._depth)
        arguments = self._test_arguments(end)
        test = Test(start, arguments.end, node, name, name_start, arguments, is_negated)
        self.calls.append(test)
        return test

    def _test_arguments(self, end: int) -> Arguments:
        if self._kind == "(":
            return self._arguments()
        if self._kind == "is":
            raise self._misread("a test cannot follow a test", hint="Join tests with `and`: `x is a and x is b`.")
        if self._kind not in _TEST_ARGUMENTS:
            return Arguments(end, end)
        depth, start = self._depth, self._start()
        argument = self._members(start, self._primary())
        self._deepen(max(depth, self._depth))
        return Arguments(start, self._end(), (argument,))

    def _not_callable(self, node: Expression) -> Misread:
        message = "only filters, tests, methods and the listed functions can be called"
        return Misread(message, node.start, node.end, kind="function")
