"""The public face of the package: `parse` a text once, then read its problems and names, evaluate it or test it."""

from collections.abc import Mapping
from functools import lru_cache
from weakref import WeakValueDictionary

from noetl.errors import TemplateError
from noetl.expressions.blocks import PROBLEMS_MAX, Reader
from noetl.expressions.checks import check_calls
from noetl.expressions.compiler import Compiler
from noetl.expressions.names import NameUse, Segment, names_in
from noetl.expressions.runtime import SCALARS, Code, Facade, Fault, Frame, Readable, Spot, measure
from noetl.expressions.statements import text_code
from noetl.expressions.syntax import Attribute, Body, Const, Expression, Item, Output, Path, Problem

__all__ = ["NOT_CONSTANT", "Facade", "NameUse", "Problem", "Readable", "Segment", "Template", "is_template", "parse"]

PARSED_MAX = 16_384
"""Templates kept parsed beyond those in use. The same text is the same template wherever it stands."""


class _NotConstant:
    __slots__ = ()

    def __repr__(self) -> str:
        return "NOT_CONSTANT"


NOT_CONSTANT = _NotConstant()
_UNKNOWN = object()
_in_use: "WeakValueDictionary[str, Template]" = WeakValueDictionary()
"""So that the templates of a playbook with very many are found again, and not parsed again, while it is compiled."""


def is_template(text: str) -> bool:
    """Whether a text holds anything to evaluate."""
    return "{{" in text or "{%" in text or "{#" in text


class Template:
    """A parsed text. It is compiled when it is first evaluated."""

    __slots__ = (
        "__weakref__",
        "text",
        "problems",
        "is_single",
        "is_guard",
        "_body",
        "_names",
        "_constant",
        "_value",
        "_test",
    )

    def __init__(self, text: str) -> None:
        reader = Reader(text)
        reader.read()
        found = [*reader.problems, *check_calls(reader.calls, PROBLEMS_MAX)]
        self.text = text
        self.problems: tuple[Problem, ...] = tuple(sorted(found, key=_position)) if found else ()
        self.is_guard, self.is_single = _shape(text, reader.tags)
        self._body: Body = tuple(reader.body)
        self._names: tuple[NameUse, ...] | None = None
        self._constant: object = _UNKNOWN
        self._value: Code | None = None
        self._test: Code | None = None

    @property
    def names(self) -> tuple[NameUse, ...]:
        """Every use of a name that the template does not bind itself, in the order of the text."""
        if self._names is None:
            self._names = names_in(self._body)
        return self._names

    @property
    def constant(self) -> object:
        """The value of a single expression that reads no name, else NOT_CONSTANT."""
        if self._constant is _UNKNOWN:
            self._constant = self._find_constant()
        return self._constant

    @property
    def expression(self) -> Expression | None:
        """The expression of a guard without problems, for those who read it rather than evaluate it."""
        return self._expression() if self.is_guard and not self.problems else None

    def evaluate(self, scope: Mapping[str, object]) -> object:
        """The value: of its native type for a single expression, else text. Anything undefined is a TemplateError."""
        code = self._value
        if code is None:
            code = self._value = self._compile_value()
        return code(Frame(scope))

    def test(self, scope: Mapping[str, object]) -> bool:
        """Whether the guard holds. Undefined is falsy and comparing with it is false; calculating with it raises."""
        code = self._test
        if code is None:
            code = self._test = self._compile_test()
        return bool(code(Frame(scope)))

    def _find_constant(self) -> object:
        if not self.is_guard or self.problems or self.names:
            return NOT_CONSTANT
        try:
            return _checked(self.text, self._expression())(Frame({}))
        except TemplateError:
            return NOT_CONSTANT

    def _compile_value(self) -> Code:
        self._refuse_problems()
        if self.is_single:
            return _checked(self.text, self._expression())
        return text_code(Compiler(self.text, is_guard=False), self._body)

    def _compile_test(self) -> Code:
        self._refuse_problems()
        if not self.is_guard:
            raise TemplateError("a guard is exactly one `{{ expression }}`", start=0, end=len(self.text))
        return Compiler(self.text, is_guard=True).truth(self._expression())

    def _expression(self) -> Expression:
        return next(statement.value for statement in self._body if isinstance(statement, Output))

    def _refuse_problems(self) -> None:
        for problem in self.problems:
            raise TemplateError(problem.message, start=problem.start, end=problem.end)


@lru_cache(maxsize=PARSED_MAX)
def parse(text: str) -> Template:
    """The template of a text. It never raises: what is wrong stands in `problems`."""
    template = _in_use.get(text)
    if template is None:
        template = _in_use[text] = Template(text)
    return template


def _position(problem: Problem) -> tuple[int, int]:
    return problem.start, problem.end


def _shape(text: str, tags: list[tuple[str, int, int]]) -> tuple[bool, bool]:
    """Whether a text is one expression once the space around it is taken off, and whether it is nothing else at all."""
    if len(tags) != 1 or tags[0][0] != "{":
        return False, False
    _, start, end = tags[0]
    before, after = text[:start], text[end:]
    is_guard = not before.strip() and not after.strip()
    return is_guard, is_guard and not before and not after.strip("\r\n")


def _is_read(node: Expression) -> bool:
    """Whether the value is there already, and is only read."""
    while isinstance(node, (Attribute, Item)):
        node = node.target
    return isinstance(node, (Path, Const))


def _checked(text: str, node: Expression) -> Code:
    """Code for a value that leaves the template. One built here is measured: it may hold the same data many times."""
    code = Compiler(text, is_guard=False).value(node)
    if _is_read(node):
        return code
    spot = Spot(text, node.start, node.end)

    def measured(frame: Frame) -> object:
        value = code(frame)
        if type(value) not in SCALARS:
            try:
                measure(frame, value)
            except Fault as fault:
                raise spot.fault(fault) from None
        return value

    return measured
