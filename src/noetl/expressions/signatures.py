"""Fits the arguments written in a template to the parameters of a filter, test, method or function."""

from collections.abc import Callable

from msgspec import Struct

from noetl.errors import closest
from noetl.expressions.syntax import Arguments, Const, Expression

_VARARGS, _VARKEYWORDS = 0x04, 0x08


class Bound(Struct, frozen=True, gc=False):
    """The arguments in the order of the parameters, the missing ones filled in, and those of any name."""

    positional: tuple[Expression, ...]
    named: tuple[tuple[str, Expression], ...] = ()


class Signature(Struct, frozen=True, gc=False):
    names: tuple[str, ...]
    defaults: tuple[bool | int | float | str | None, ...]
    takes_more: bool
    takes_names: bool

    @property
    def required(self) -> int:
        return len(self.names) - len(self.defaults)


def signature_of(function: Callable[..., object], given: int) -> Signature:
    """The parameters an author writes: all but the first `given`, which are the frame and the value."""
    code = function.__code__
    names = code.co_varnames[given : code.co_argcount]
    return Signature(
        names, function.__defaults__ or (), bool(code.co_flags & _VARARGS), bool(code.co_flags & _VARKEYWORDS)
    )


def bind(signature: Signature, arguments: Arguments) -> Bound | str:
    """The bound arguments, or what is wrong with them."""
    names, positional = signature.names, arguments.positional
    if len(positional) > len(names) and not signature.takes_more:
        return f"takes {_count(len(names))}, found {len(positional)}"
    named = dict(arguments.named)
    if len(named) < len(arguments.named):
        return "has an argument written twice"
    values: list[Expression] = list(positional)
    for number, name in enumerate(names[len(positional) :], len(positional)):
        if name in named:
            values.append(named.pop(name))
        elif number < signature.required:
            return f"needs its argument `{name}`"
        else:
            default = signature.defaults[number - signature.required]
            values.append(Const(arguments.start, arguments.start, default))
    if named and not signature.takes_names:
        return _surplus(signature, next(iter(named)))
    return Bound(tuple(values), tuple(named.items()))


def _count(number: int) -> str:
    return ("no arguments", "at most 1 argument")[number] if number < 2 else f"at most {number} arguments"


def _surplus(signature: Signature, name: str) -> str:
    if name in signature.names:
        return f"has its argument `{name}` written twice"
    near = closest(name, signature.names)
    guess = f"; did you mean `{near}`?" if near else f"; it takes {', '.join(signature.names) or 'none'}"
    return f"has no argument `{name}`{guess}"
