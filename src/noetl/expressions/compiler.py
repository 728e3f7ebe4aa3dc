"""Turns an expression into nested closures over a Frame. No Python source is generated and no Python name is reachable.

`value` gives code whose result is always defined: it raises where something is missing. `maybe` gives code that may
return Undefined, for the places that accept it: `default`, `is defined`, members; in a guard truth and comparison."""

import operator
from collections.abc import Callable

from noetl.expressions.access import member_code, path_code
from noetl.expressions.applying import (
    Applied,
    all_of,
    any_of,
    apply,
    apply_pair,
    concat,
    constant_code,
    default_code,
    defined,
    dict_code,
    or_undefined,
    record_code,
    test_code,
)
from noetl.expressions.comparing import (
    compare_chain,
    compare_constant,
    compare_pair,
    compare_two,
    one_of,
    one_of_constants,
)
from noetl.expressions.each import map_attribute, map_filter, select_code
from noetl.expressions.filters import DEFAULTS, EACH_FILTERS, EMPTY_IS_UNDEFINED, FILTERS
from noetl.expressions.functions import FUNCTIONS
from noetl.expressions.methods import METHODS
from noetl.expressions.operations import BINARY, negative, positive, take_slice
from noetl.expressions.predicates import TESTS
from noetl.expressions.runtime import Code, Frame, Spot, Undefined, whole
from noetl.expressions.signatures import Bound, bind, signature_of
from noetl.expressions.syntax import (
    Arguments,
    Attribute,
    Binary,
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
    Node,
    Not,
    Path,
    Sign,
    Slice,
    Test,
)

_INT_OPERATIONS: dict[str, Callable[[int, int], object]] = {
    "+": operator.add,
    "-": operator.sub,
    "//": operator.floordiv,
    "%": operator.mod,
}


class Compiler:
    """Compiles the expressions of one template. In a guard undefined is falsy, and comparing with it is false."""

    __slots__ = ("text", "is_guard", "scopes", "slot_count")

    def __init__(self, text: str, *, is_guard: bool) -> None:
        self.text = text
        self.is_guard = is_guard
        self.scopes: list[dict[str, int]] = [{}]
        self.slot_count = 0

    def spot(self, node: Node) -> Spot:
        return Spot(self.text, node.start, node.end)

    def slots_of(self, name: str) -> tuple[int, ...]:
        """Where statements may have bound a name, the innermost first."""
        return tuple(scope[name] for scope in reversed(self.scopes) if name in scope)

    def truth(self, node: Expression) -> Code:
        """Code for a condition."""
        return self.maybe(node) if self.is_guard else self.value(node)

    def maybe(self, node: Expression) -> Code:
        match node:
            case Path():
                return path_code(self.text, node, self.slots_of(node.root), is_strict=False)
            case Attribute() | Item():
                member = self._member(node)
                return lambda frame: whole(member(frame))
            case Choice():
                return self._choice(node)
            case Logic():
                return self._logic(node)
            case Filter(name=name) if name in EMPTY_IS_UNDEFINED:
                return or_undefined(self._applied(node, FILTERS[name], node.arguments, [self.value(node.target)]))
            case _:
                return self.value(node)

    def value(self, node: Expression) -> Code:
        match node:
            case Const(value=constant):
                return constant_code(constant)
            case Path():
                return path_code(self.text, node, self.slots_of(node.root), is_strict=True)
            case Attribute() | Item() | Choice():
                return defined(self.maybe(node))
            case Logic():
                return defined(self._logic(node)) if self.is_guard else self._logic(node)
            case Compare():
                return self._compare(node)
            case Not(operand=operand):
                inner = self.truth(operand)
                return lambda frame: not inner(frame)
            case Filter():
                return self._filter(node)
            case Test():
                return self._test(node)
            case _:
                return self._operation(node)

    def target(self, node: Expression) -> Code:
        """Code for a value of which members are read: a facade is one still."""
        match node:
            case Path():
                return path_code(self.text, node, self.slots_of(node.root), is_strict=False, is_target=True)
            case Attribute() | Item():
                return self._member(node)
            case _:
                return self.maybe(node)

    def _operation(self, node: Slice | Method | Function | Sign | Binary | Concat | ListOf | DictOf) -> Code:
        match node:
            case Binary():
                return self._binary(node)
            case Concat(parts=parts):
                return concat(self.spot(node), [self.value(part) for part in parts])
            case ListOf(items=items):
                codes = [self.value(item) for item in items]
                return lambda frame: [code(frame) for code in codes]
            case DictOf():
                return self._dict(node)
            case Sign(operator=sign, operand=operand):
                function = negative if sign == "-" else positive
                return apply(Applied(self.spot(node), function, (self.value(operand),)))
            case Slice():
                return self._slice(node)
            case Method(name=name, target=target, arguments=arguments):
                return apply(self._applied(node, METHODS[name], arguments, [self.value(target)]))
            case _:
                return apply(self._applied(node, FUNCTIONS[node.name], node.arguments, []))

    def _member(self, node: Attribute | Item) -> Code:
        target_words = self.text[node.target.start : node.target.end]
        target = self.target(node.target)
        if isinstance(node, Attribute):
            name = node.name
            part = Spot(self.text, node.name_start, node.end)
            return member_code(self.spot(node), part, target, constant_code(name), target_words)
        part = Spot(self.text, node.key.start, node.key.end)
        return member_code(self.spot(node), part, target, self.value(node.key), target_words)

    def _choice(self, node: Choice) -> Code:
        test, then = self.truth(node.test), self.maybe(node.then)
        if node.otherwise is not None:
            otherwise = self.maybe(node.otherwise)
            return lambda frame: then(frame) if test(frame) else otherwise(frame)
        reason = "the condition is false and there is no `else`"
        missing = Undefined(self.spot(node), reason=reason)
        return lambda frame: then(frame) if test(frame) else missing

    def _logic(self, node: Logic) -> Code:
        parts = [self.truth(part) for part in node.parts]
        first, second = parts[0], parts[1]
        if len(parts) == 2:
            if node.operator == "and":
                return lambda frame: first(frame) and second(frame)
            return lambda frame: first(frame) or second(frame)
        return all_of(parts) if node.operator == "and" else any_of(parts)

    def _compare(self, node: Compare) -> Code:
        spot = self.spot(node)
        if len(node.rest) > 1:
            links = [
                (compare_pair(spot, operation, is_guard=self.is_guard), self.truth(operand))
                for operation, operand in node.rest
            ]
            return compare_chain(self.truth(node.first), links)
        operation, right = node.rest[0]
        left = self.truth(node.first)
        if operation in ("in", "not in") and isinstance(right, ListOf):
            return self._one_of(spot, left, right, is_negated=operation == "not in")
        if isinstance(right, Const) and operation not in ("in", "not in"):
            return compare_constant(spot, operation, left, right.value, is_guard=self.is_guard)
        return compare_two(spot, operation, left, self.truth(right), is_guard=self.is_guard)

    def _one_of(self, spot: Spot, left: Code, candidates: ListOf, *, is_negated: bool) -> Code:
        constants = tuple(item.value for item in candidates.items if isinstance(item, Const))
        if len(constants) == len(candidates.items):
            return one_of_constants(spot, left, constants, is_negated=is_negated)
        return one_of(spot, left, [self.truth(item) for item in candidates.items], is_negated=is_negated)

    def _filter(self, node: Filter) -> Code:
        if node.name in DEFAULTS:
            return self._default(node)
        if node.name in EACH_FILTERS:
            return self._each(node)
        return apply(self._applied(node, FILTERS[node.name], node.arguments, [self.value(node.target)]))

    def _default(self, node: Filter) -> Code:
        applied = self._applied(node, FILTERS[node.name], node.arguments, [])
        return default_code(self.maybe(node.target), *applied.positional)

    def _each(self, node: Filter) -> Code:
        """`map`, `select` and their kin: the inner filter or test is resolved here, by the name in the text."""
        spot, target = self.spot(node), self.value(node.target)
        positional, named = node.arguments.positional, dict(node.arguments.named)
        if node.name == "map" and not positional:
            fallback = self.value(named["default"]) if "default" in named else None
            return map_attribute(spot, target, self.value(named["attribute"]), fallback)
        skipped = 1 if node.name.endswith("attr") else 0
        inner = self._inner(node, skipped)
        if node.name == "map" and inner is not None:
            return map_filter(inner, target)
        attribute = self.value(positional[0]) if skipped else None
        return select_code(spot, target, attribute, inner, is_rejecting=node.name.startswith("reject"))

    def _inner(self, node: Filter, skipped: int) -> Applied | None:
        positional = node.arguments.positional[skipped:]
        if not positional:
            return None
        assert isinstance(positional[0], Const)
        table = FILTERS if node.name == "map" else TESTS
        rest = Arguments(node.start, node.end, positional[1:], node.arguments.named)
        return self._applied(node, table[str(positional[0].value)], rest, [])

    def _test(self, node: Test) -> Code:
        if node.name in ("defined", "undefined"):
            target, is_undefined = self.maybe(node.target), (node.name == "undefined") is not node.is_negated
            return lambda frame: (type(target(frame)) is Undefined) is is_undefined
        applied = self._applied(node, TESTS[node.name], node.arguments, [])
        return test_code(applied, self.truth(node.target), is_negated=node.is_negated)

    def _dict(self, node: DictOf) -> Code:
        words = [key.value for key, _ in node.pairs if isinstance(key, Const) and isinstance(key.value, str)]
        values = [self.value(item) for _, item in node.pairs]
        if len(words) == len(values):
            return record_code([*zip(words, values, strict=True)])
        keys = [self.value(key) for key, _ in node.pairs]
        return dict_code(self.spot(node), [*zip(keys, values, strict=True)])

    def _slice(self, node: Slice) -> Code:
        parts = (node.first, node.last, node.step)
        bounds = (constant_code(None) if part is None else self.value(part) for part in parts)
        return apply(Applied(self.spot(node), take_slice, (self.value(node.target), *bounds)))

    def _binary(self, node: Binary) -> Code:
        left, right = self.value(node.left), self.value(node.right)
        careful = apply_pair(self.spot(node), BINARY[node.operator])
        direct = _INT_OPERATIONS.get(node.operator)
        if direct is None:
            return lambda frame: careful(frame, left(frame), right(frame))

        def code(frame: Frame) -> object:
            a, b = left(frame), right(frame)
            # Division by zero takes the careful way as well, hence the last condition.
            return direct(a, b) if type(a) is int and type(b) is int and b else careful(frame, a, b)

        return code

    def _applied(self, node: Node, function: Callable[..., object], arguments: Arguments, given: list[Code]) -> Applied:
        """A function with the code of its arguments, the given ones first. That they fit has been checked."""
        is_function = isinstance(node, Function)
        bound = bind(signature_of(function, 1 if is_function else 2), arguments)
        assert isinstance(bound, Bound)
        positional = (*given, *(self.value(argument) for argument in bound.positional))
        named = tuple((name, self.value(argument)) for name, argument in bound.named)
        return Applied(self.spot(node), function, positional, named)
