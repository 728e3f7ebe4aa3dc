"""The syntax tree of a template: a closed set of frozen nodes, each with its start and end offset in the text."""

from typing import TypeAlias

from msgspec import Struct


class Problem(Struct, frozen=True, gc=False):
    """What is wrong with a template before any data is seen.

    `kind` is one of syntax, filter, test, function, method, statement, bound."""

    kind: str
    message: str
    start: int
    end: int
    hint: str = ""


class Node(Struct, frozen=True, gc=False):
    start: int
    end: int

    def inside(self) -> "tuple[Expression, ...]":
        """The expressions directly inside this one, in the order they are written."""
        return ()


class Const(Node, frozen=True, gc=False):
    value: bool | int | float | str | None


class Path(Node, frozen=True, gc=False):
    """A root name and the dotted names written directly behind it."""

    root: str
    names: tuple[str, ...]


class Attribute(Node, frozen=True, gc=False):
    target: "Expression"
    name: str
    name_start: int

    def inside(self) -> "tuple[Expression, ...]":
        return (self.target,)


class Item(Node, frozen=True, gc=False):
    target: "Expression"
    key: "Expression"

    def inside(self) -> "tuple[Expression, ...]":
        return (self.target, self.key)


class Slice(Node, frozen=True, gc=False):
    target: "Expression"
    first: "Expression | None"
    last: "Expression | None"
    step: "Expression | None"

    def inside(self) -> "tuple[Expression, ...]":
        return (self.target, *(part for part in (self.first, self.last, self.step) if part is not None))


class Arguments(Node, frozen=True, gc=False):
    positional: "tuple[Expression, ...]" = ()
    named: "tuple[tuple[str, Expression], ...]" = ()

    def inside(self) -> "tuple[Expression, ...]":
        return (*self.positional, *(value for _, value in self.named)) if self.named else self.positional


class Applied(Node, frozen=True, gc=False):
    """Something with a name and arguments that is applied to a target."""

    target: "Expression"
    name: str
    name_start: int
    arguments: Arguments

    def inside(self) -> "tuple[Expression, ...]":
        return (self.target, *self.arguments.inside())


class Method(Applied, frozen=True, gc=False):
    """`target.name(…)`"""


class Function(Node, frozen=True, gc=False):
    name: str
    arguments: Arguments

    def inside(self) -> "tuple[Expression, ...]":
        return self.arguments.inside()


class Filter(Applied, frozen=True, gc=False):
    """`target | name(…)`"""


class Test(Applied, frozen=True, gc=False):
    """`target is name(…)`"""

    is_negated: bool


class Sign(Node, frozen=True, gc=False):
    operator: str
    operand: "Expression"

    def inside(self) -> "tuple[Expression, ...]":
        return (self.operand,)


class Binary(Node, frozen=True, gc=False):
    operator: str
    left: "Expression"
    right: "Expression"

    def inside(self) -> "tuple[Expression, ...]":
        return (self.left, self.right)


class Concat(Node, frozen=True, gc=False):
    parts: "tuple[Expression, ...]"

    def inside(self) -> "tuple[Expression, ...]":
        return self.parts


class Compare(Node, frozen=True, gc=False):
    first: "Expression"
    rest: "tuple[tuple[str, Expression], ...]"

    def inside(self) -> "tuple[Expression, ...]":
        return (self.first, *(operand for _, operand in self.rest))


class Logic(Node, frozen=True, gc=False):
    """`and` or `or` over two or more parts."""

    operator: str
    parts: "tuple[Expression, ...]"

    def inside(self) -> "tuple[Expression, ...]":
        return self.parts


class Not(Node, frozen=True, gc=False):
    operand: "Expression"

    def inside(self) -> "tuple[Expression, ...]":
        return (self.operand,)


class Choice(Node, frozen=True, gc=False):
    """`then if test else otherwise`."""

    test: "Expression"
    then: "Expression"
    otherwise: "Expression | None"

    def inside(self) -> "tuple[Expression, ...]":
        return (self.then, self.test) if self.otherwise is None else (self.then, self.test, self.otherwise)


class ListOf(Node, frozen=True, gc=False):
    items: "tuple[Expression, ...]"

    def inside(self) -> "tuple[Expression, ...]":
        return self.items


class DictOf(Node, frozen=True, gc=False):
    pairs: "tuple[tuple[Expression, Expression], ...]"

    def inside(self) -> "tuple[Expression, ...]":
        return tuple(part for pair in self.pairs for part in pair)


Expression: TypeAlias = (
    Const
    | Path
    | Attribute
    | Item
    | Slice
    | Method
    | Function
    | Filter
    | Test
    | Sign
    | Binary
    | Concat
    | Compare
    | Logic
    | Not
    | Choice
    | ListOf
    | DictOf
)
Call: TypeAlias = Filter | Test | Method | Function


class Text(Node, frozen=True, gc=False):
    value: str


class Output(Node, frozen=True, gc=False):
    value: Expression


class If(Node, frozen=True, gc=False):
    """The branches in order; a branch without a test is the `else`."""

    branches: "tuple[tuple[Expression | None, Body], ...]"


class For(Node, frozen=True, gc=False):
    target: "Target"
    items: Expression
    test: Expression | None
    body: "Body"
    otherwise: "Body"


class Set(Node, frozen=True, gc=False):
    target: "Target"
    value: Expression


class SetBlock(Node, frozen=True, gc=False):
    target: "Target"
    body: "Body"


Target: TypeAlias = tuple[str, ...]
"""The names a `for` or a `set` binds: one, or several to unpack into."""

Statement: TypeAlias = Text | Output | If | For | Set | SetBlock
Body: TypeAlias = tuple[Statement, ...]
