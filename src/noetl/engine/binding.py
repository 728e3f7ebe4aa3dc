"""Values with templates in them, made ready once and evaluated many times."""

from collections.abc import Callable, Mapping
from typing import NoReturn

from noetl.engine.output import Error
from noetl.engine.reference import GONE, check_whole
from noetl.errors import TemplateError
from noetl.expressions.runtime import SCALARS
from noetl.expressions.template import is_template, parse
from noetl.playbook.diagnostics import Span
from noetl.playbook.model import Guard

Scope = Mapping[str, object]
Evaluate = Callable[[Scope], object]
EvaluateValues = Callable[[Scope], Mapping[str, object]]
Test = Callable[[Scope], bool]

SHOWN_MAX = 200
"""How many characters of an expression or a value a message shows."""


class BindingFailed(Exception):
    """A template of the playbook could not be evaluated; `error` names the place and the expression."""

    def __init__(self, error: Error) -> None:
        super().__init__(error.message)
        self.error = error


class Places:
    """Where the parts of a playbook stand in its file, so that errors at run time can point there.

    `spans` is the source map of the compiler: paths in the model and their places.
    """

    def __init__(self, file: str = "", spans: Mapping[str, Span] | None = None) -> None:
        self.file = file
        self.spans = spans or {}

    def fail(self, error: TemplateError, text: str, path: str) -> NoReturn:
        message = f"{error.message}, in `{shown(text)}`"
        failure = self.refusal(error.kind, message, path, expression=text, retryable=error.retryable)
        raise BindingFailed(failure) from error

    def refusal(
        self, kind: str, message: str, path: str, *, expression: str | None = None, retryable: bool = False
    ) -> Error:
        """An error that says where in the file the playbook asks for what cannot be."""
        span = self.find(path)
        place = f"{self.file}:{span.line}:{span.column}" if span is not None else path
        details = {
            "expression": expression,
            "path": path,
            "file": self.file,
            "line": span.line if span is not None else None,
            "column": span.column if span is not None else None,
        }
        return Error(kind, f"{place}: {message}", retryable, details)

    def find(self, path: str) -> Span | None:
        """The place of a path, or of the nearest thing around it."""
        while path and path not in self.spans:
            path = path.rpartition("/")[0]
        return self.spans.get(path)


def shown(text: str) -> str:
    """A text on one line, cut where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= SHOWN_MAX else f"{line[:SHOWN_MAX]}…"


def binder(value: object, path: str, places: Places) -> Evaluate:
    """An evaluator of a value in which strings may be templates. What holds none is constant."""
    if isinstance(value, str) and is_template(value):
        return _template(value, path, places)
    if isinstance(value, dict):
        return values_binder(value, path, places)
    if isinstance(value, list) and _has_template(value):
        items = [binder(item, f"{path}/{index}", places) for index, item in enumerate(value)]
        return lambda scope: [item(scope) for item in items]
    return lambda _scope: value


def values_binder(values: Mapping[str, object], path: str, places: Places) -> EvaluateValues:
    """The same for a mapping of values, of which a mapping comes again."""
    if not any(map(_has_template, values.values())):
        return lambda _scope: values
    parts = [(key, binder(value, f"{path}/{key}", places)) for key, value in values.items()]
    return lambda scope: {key: part(scope) for key, part in parts}


def guard(when: Guard, path: str, places: Places) -> Test:
    """The test of a `when`. One that was not written always holds."""
    if not isinstance(when, str):
        holds = when is not False
        return lambda _scope: holds
    template = parse(when)

    def test(scope: Scope) -> bool:
        try:
            return template.test(scope)
        except TemplateError as error:
            places.fail(error, when, path)

    return test


def _template(text: str, path: str, places: Places) -> Evaluate:
    template = parse(text)

    def evaluate(scope: Scope) -> object:
        try:
            found = template.evaluate(scope)
            if type(found) not in SCALARS and type(scope) is dict and GONE in scope:  # those of servers are no dicts
                check_whole(found)
        except TemplateError as error:
            places.fail(error, text, path)
        return found

    return evaluate


def _has_template(value: object) -> bool:
    if isinstance(value, str):
        return is_template(value)
    if isinstance(value, dict):
        return any(_has_template(item) for item in value.values())
    return isinstance(value, list) and any(_has_template(item) for item in value)
