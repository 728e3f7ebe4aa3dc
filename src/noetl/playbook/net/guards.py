"""Reads a guard as a formula: what it says about the boundary event and the output's status, and what is unknown.

`event.name`, `event.status` and `output.status` compared with constants are understood, as is `output.error`,
which is there only with the status `error`. Everything else is a condition that may be true or false.
"""

from noetl.expressions.syntax import (
    Attribute,
    Choice,
    Compare,
    Const,
    Expression,
    Item,
    ListOf,
    Logic,
    Not,
    Path,
    Test,
)
from noetl.expressions.template import NOT_CONSTANT, parse
from noetl.playbook.model import Guard
from noetl.playbook.net.truth import Condition, Every, Fact, Formula, Literal, Negation, Some

ALWAYS = Literal(True)
IS_ERROR = Fact("output.status", "error")

_FACTS = frozenset(("event.name", "event.status", "output.status"))
_MIRRORED = {"==": "==", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}


def read_guard(guard: Guard) -> Formula:
    """The formula of a `when`; without one it is always true."""
    if guard is None:
        return ALWAYS
    if isinstance(guard, bool):
        return Literal(guard)
    template = parse(guard)
    expression = template.expression
    if expression is None:
        return Condition(guard)
    reader = _Reader(guard)
    formula = reader.formula(expression)
    # Whether a template is constant costs more to find out, and one that names something is not.
    if not reader.has_names and template.constant is not NOT_CONSTANT:
        return Literal(bool(template.constant))
    return formula


class _Reader:
    """Translates one expression; `text` is the template whose offsets its nodes carry."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.has_names = False

    def formula(self, node: Expression) -> Formula:
        match node:
            case Const(value=value):
                return Literal(bool(value))
            case Not(operand=operand):
                return Negation(self.formula(operand))
            case Logic(operator="and", parts=parts):
                return Every(tuple(self.formula(part) for part in parts))
            case Logic(parts=parts):
                return Some(tuple(self.formula(part) for part in parts))
            case Choice():
                return self._choice(node)
            case Compare(first=first, rest=((operator, right),)):
                return self._compare(first, operator, right)
            case Compare(first=first, rest=rest):
                operands = (first, *(operand for _, operand in rest))
                return Every(tuple(self._compare(operands[index], *pair) for index, pair in enumerate(rest)))
            case Test():
                return self._test(node)
            case _:
                return self._truthiness(node)

    def _choice(self, node: Choice) -> Formula:
        test, then = self.formula(node.test), self.formula(node.then)
        otherwise = Literal(False) if node.otherwise is None else self.formula(node.otherwise)
        return Some((Every((test, then)), Every((Negation(test), otherwise))))

    def _test(self, node: Test) -> Formula:
        arguments = [self._written(each) for each in node.arguments.positional]
        positive = Condition(self._written(node.target), f"is {node.name}", ", ".join(arguments))
        return Negation(positive) if node.is_negated else positive

    def _truthiness(self, node: Expression) -> Formula:
        name = self._name(node)
        if name == "output.error":
            return IS_ERROR
        return self._about_error(name, Condition(name or self._written(node)))

    def _compare(self, left: Expression, operator: str, right: Expression) -> Formula:
        if isinstance(left, Const) and operator in _MIRRORED:
            left, operator, right = right, _MIRRORED[operator], left
        name = self._name(left)
        fact = _fact(name, operator, right) if name in _FACTS else None
        if fact is not None:
            return fact
        is_text = isinstance(right, Const) and isinstance(right.value, str)
        condition = Condition(name or self._written(left), operator, self._written(right), is_text)
        if operator == "==" and isinstance(right, Const) and right.value:
            return self._about_error(name, condition)
        return condition

    def _about_error(self, name: str | None, condition: Condition) -> Formula:
        """What is inside `output.error` is undefined, so false, as long as the status is ok."""
        if name is not None and name.startswith("output.error."):
            return Every((IS_ERROR, condition))
        return condition

    def _name(self, node: Expression) -> str | None:
        name = _dotted(node)
        self.has_names |= name is not None
        return name

    def _written(self, node: Expression) -> str:
        if isinstance(node, Const):
            return repr(node.value)
        return self._name(node) or self._text[node.start : node.end]


def _fact(name: str, operator: str, right: Expression) -> Formula | None:
    match operator, right:
        case "==", Const(value=value):
            return _equals(name, value)
        case "!=", Const(value=value):
            return Negation(_equals(name, value))
        case (("in" | "not in"), ListOf(items=items)):
            values = [item.value for item in items if isinstance(item, Const)]
            if len(values) < len(items):
                return None
            among = Some(tuple(_equals(name, value) for value in values))
            return among if operator == "in" else Negation(among)
        case _:
            return None


def _equals(name: str, value: object) -> Formula:
    return Fact(name, value) if isinstance(value, str) else Literal(False)


def _dotted(node: Expression) -> str | None:
    """The canonical dotted name, where the node is one: `outcome['status']` is `output.status`."""
    names: list[str] = []
    while not isinstance(node, Path):
        match node:
            case Attribute(target=target, name=name):
                names.append(name)
                node = target
            case Item(target=target, key=Const(value=str(name))):
                names.append(name)
                node = target
            case _:
                return None
    root = "output" if node.root == "outcome" else node.root
    return ".".join((root, *node.names, *reversed(names)))
