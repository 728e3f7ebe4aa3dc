"""The syntax tree of a template: a closed set of frozen nodes, each with its start and end offset in the text."""

from typing import TypeAlias

from msgspec import Struct


class Problem(Struct, frozen=True, gc=False):
    """What is wrong with a template before any data is seen. `kind` is one of syntax, filter, test, function, method, statement, bound."""

    kind: str
    message: str
    start: int
    end: int
    hint: str = ""


class Node(Struct, frozen=True, gc=False):
    start: int
    end: int


class Const(Node, frozen=True, gc=False):
    value: None | bool | int | float | str


class Path(Node, frozen=True, gc=False):
    """A root name and the dotted names written directly behind it."""

    root: str
    names: tuple[str, ...]


class Attribute(Node, frozen=True, gc=False):
    target: "Expression"
    name: str
    name_start: int


class Item(Node, frozen=True, gc=False):
    target: "Expression"
    key: "Expression"


class Slice(Node, frozen=True, gc=False):
    target: "Expression"
    first: "Expression | None"
    last: "Expression | None"
    step: "Expression | None"


class Arguments(Node, frozen=True, gc=False):
    positional: "tuple[Expression, ...]" = ()
    named: "tuple[tuple[str, Expression], ...]" = ()


class Method(Node, frozen=True, gc=False):
    target: "Expression"
    name: str
    name_start: int
    arguments: Arguments


class Function(Node, frozen=True, gc=False):
    name: str
    arguments: Arguments


class Filter(Node, frozen=True, gc=False):
    target: "Expression"
    name: str
    name_start: int
    arguments: Arguments


class Test(Node, frozen=True, gc=False):
    target: "Expression"
    name: str
    name_start: int
    arguments: Arguments
    is_negated: bool


class Sign(Node, frozen=True, gc=False):
    operator: str
    operand: "Expression"


class Binary(Node, frozen=True, gc=False):
    operator: str
    left: "Expression"
    right: "Expression"


class Concat(Node, frozen=True, gc=False):
    parts: "tuple[Expression, ...]"


class Compare(Node, frozen=True, gc=False):
    first: "Expression"
    rest: "tuple[tuple[str, Expression], ...]"


class Logic(Node, frozen=True, gc=False):
    """`and` or `or` over two or more parts."""

    operator: str
    parts: "tuple[Expression, ...]"


class Not(Node, frozen=True, gc=False):
    operand: "Expression"


class Choice(Node, frozen=True, gc=False):
    """`then if test else otherwise`."""

    test: "Expression"
    then: "Expression"
    otherwise: "Expression | None"


class ListOf(Node, frozen=True, gc=False):
    items: "tuple[Expression, ...]"


class DictOf(Node, frozen=True, gc=False):
    pairs: "tuple[tuple[Expression, Expression], ...]"


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


def expressions_in(node: Expression | Arguments) -> "tuple[Expression, ...]":
    """The expressions directly inside a node, in the order they are written."""
    match node:
        case Const() | Path():
            return ()
        case Attribute(target=inner) | Sign(operand=inner) | Not(operand=inner):
            return (inner,)
        case Item(target=target, key=key):
            return (target, key)
        case Slice(target=target, first=first, last=last, step=step):
            return (target, *(part for part in (first, last, step) if part is not None))
        case Arguments(positional=positional, named=named):
            return (*positional, *(value for _, value in named))
        case (
            Method(target=target, arguments=given)
            | Filter(target=target, arguments=given)
            | Test(target=target, arguments=given)
        ):
            return (target, *expressions_in(given))
        case Function(arguments=given):
            return expressions_in(given)
        case Binary(left=left, right=right):
            return (left, right)
        case Concat(parts=parts) | Logic(parts=parts) | ListOf(items=parts):
            return parts
        case Compare(first=first, rest=rest):
            return (first, *(operand for _, operand in rest))
        case Choice(test=test, then=then, otherwise=otherwise):
            return (then, test) if otherwise is None else (then, test, otherwise)
        case DictOf(pairs=pairs):
            return tuple(part for pair in pairs for part in pair)
