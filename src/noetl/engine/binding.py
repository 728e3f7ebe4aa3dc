"""Values with templates in them, made ready once and evaluated many times."""

from collections.abc import Callable, Mapping
from typing import NoReturn

from noetl.engine.output import Error
from noetl.errors import TemplateError
from noetl.expressions.template import is_template, parse
from noetl.playbook.model import Guard

Scope = Mapping[str, object]
Evaluate = Callable[[Scope], object]
Test = Callable[[Scope], bool]


class BindingFailed(Exception):
    """A template of the playbook could not be evaluated; `error` names the place and the expression."""

    def __init__(self, error: Error) -> None:
        super().__init__(error.message)
        self.error = error


class Places:
    """Where the templates of a playbook stand in its file, so that errors at run time can point there."""

    def __init__(self, file: str = "", positions: Mapping[str, tuple[int, int]] | None = None) -> None:
        self.file = file
        self.positions = positions or {}

    def fail(self, error: TemplateError, text: str, path: str) -> NoReturn:
        line, column = self.positions.get(path, (0, 0))
        place = f"{self.file}:{line}:{column}" if line else path
        details = {"expression": text, "path": path, "file": self.file, "line": line or None, "column": column or None}
        raise BindingFailed(Error(error.kind, f"{place}: {error.message}", details=details)) from error


def binder(value: object, path: str, places: Places) -> Evaluate:
    """An evaluator of a value in which strings may be templates. What holds none is constant."""
    if isinstance(value, str) and is_template(value):
        return _template(value, path, places)
    if isinstance(value, dict) and _has_template(value):
        parts = [(key, binder(item, f"{path}/{key}", places)) for key, item in value.items()]
        return lambda scope: {key: part(scope) for key, part in parts}
    if isinstance(value, list) and _has_template(value):
        items = [binder(item, f"{path}/{index}", places) for index, item in enumerate(value)]
        return lambda scope: [item(scope) for item in items]
    return lambda _scope: value


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
            return template.evaluate(scope)
        except TemplateError as error:
            places.fail(error, text, path)

    return evaluate


def _has_template(value: object) -> bool:
    if isinstance(value, str):
        return is_template(value)
    if isinstance(value, dict):
        return any(_has_template(item) for item in value.values())
    return isinstance(value, list) and any(_has_template(item) for item in value)
