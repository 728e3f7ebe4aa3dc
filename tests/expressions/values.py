"""Short ways to evaluate, for the tests of this folder."""

from collections.abc import Mapping

from noetl.errors import TemplateError
from noetl.expressions.syntax import Problem
from noetl.expressions.template import parse

NOTHING: Mapping[str, object] = {}


def value_of(expression: str, scope: Mapping[str, object] = NOTHING) -> object:
    return parse("{{ " + expression + " }}").evaluate(scope)


def holds(expression: str, scope: Mapping[str, object] = NOTHING) -> bool:
    return parse("{{ " + expression + " }}").test(scope)


def text_of(template: str, scope: Mapping[str, object] = NOTHING) -> object:
    return parse(template).evaluate(scope)


def failure(template: str, scope: Mapping[str, object] = NOTHING) -> TemplateError:
    try:
        value = parse(template).evaluate(scope)
    except TemplateError as error:
        return error
    raise AssertionError(f"{template} gave {value!r}")


def message_of(expression: str, scope: Mapping[str, object] = NOTHING) -> str:
    return failure("{{ " + expression + " }}", scope).message


def problems_of(template: str) -> list[tuple[str, str]]:
    """The kind of each problem and the text it points at."""
    return [(problem.kind, template[problem.start : problem.end]) for problem in parse(template).problems]


def problem_of(template: str) -> Problem:
    (problem,) = parse(template).problems
    return problem
