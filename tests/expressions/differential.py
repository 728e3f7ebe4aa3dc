"""Compares our evaluator with Jinja2 on generated expressions, templates and values.

Run `python -m tests.expressions.differential --count 200000` for the long form. Where the two are meant to differ,
either the Jinja2 environment below is bent to our rule or the pair is listed in INTENDED."""

import argparse
import json
from collections.abc import Callable, Iterable, Mapping
from itertools import count
from math import isfinite
from random import Random
from typing import Any

import jinja2
from jinja2 import StrictUndefined, nodes
from jinja2.compiler import CodeGenerator, Frame
from markupsafe import Markup, escape

from noetl.errors import TemplateError
from noetl.expressions.template import parse
from tests.expressions.corpus import Corpus, scope_of


class Failure(str):
    """The message of an evaluation that failed."""

    __slots__ = ()


class ChainedUndefined(StrictUndefined):
    """Undefined as in a playbook: members of it are undefined too, any other use is an error."""

    def __getattr__(self, name: str) -> "ChainedUndefined":
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, key: object) -> "ChainedUndefined":  # type: ignore[override]
        return self


class WholeLiterals(CodeGenerator):
    """A list or mapping written out in a template holds no undefined."""

    def visit_List(self, node: nodes.List, frame: Frame) -> None:  # noqa: N802  Jinja2's name
        self._whole(super().visit_List, node, frame)

    def visit_Dict(self, node: nodes.Dict, frame: Frame) -> None:  # noqa: N802  Jinja2's name
        self._whole(super().visit_Dict, node, frame)

    def visit_Tuple(self, node: nodes.Tuple, frame: Frame) -> None:  # noqa: N802  Jinja2's name
        if node.ctx == "load":
            self._whole(super().visit_Tuple, node, frame)
        else:
            super().visit_Tuple(node, frame)

    def _whole(self, visit: Callable[..., None], node: nodes.Expr, frame: Frame) -> None:
        self.write("environment.whole(")
        visit(node, frame)
        self.write(")")


class Bent(jinja2.Environment):
    """Jinja2 with those of our rules that can be told to it."""

    code_generator_class = WholeLiterals

    def whole(self, value: object) -> object:
        parts: Iterable[object] = ()
        if isinstance(value, Mapping):
            parts = value.values()
        elif isinstance(value, list | tuple):
            parts = value
        for part in parts:
            if isinstance(part, ChainedUndefined):
                str(part)
        return Listed(value) if isinstance(value, tuple) else value


class Listed(tuple[object, ...]):
    """A tuple that reads as the list it is in a playbook."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(list(self))


def environment() -> jinja2.Environment:
    result = Bent(undefined=ChainedUndefined, keep_trailing_newline=True, autoescape=False, optimized=False)
    assert result.code_generator_class is WholeLiterals
    for name in LISTED:
        result.filters[name] = listed(result.filters[name])
    for name, test in result.tests.items():
        if name not in ("defined", "undefined"):
            result.tests[name] = defined(test)
    result.filters["e"] = result.filters["escape"] = lambda value: str(escape(value))
    result.globals["range"] = listed(range)
    result.globals["dict"] = lambda *given, **named: result.whole(dict(*given, **named))
    return result


LISTED = (
    "map",
    "select",
    "reject",
    "selectattr",
    "rejectattr",
    "reverse",
    "batch",
    "slice",
    "unique",
    "items",
    "list",
    "dictsort",
    "groupby",
)
"""Filters that give iterators or tuples in Jinja2 and lists here."""


def listed(function: Callable[..., object]) -> Callable[..., object]:
    def call(*arguments: object, **named: object) -> object:
        return plain(function(*arguments, **named))

    # The marks by which Jinja2 passes its context to a filter.
    call.__dict__.update(function.__dict__ if hasattr(function, "__dict__") else {})
    return call


def defined(test: Any) -> Callable[..., object]:
    """A test to which undefined is an error."""

    def call(value: object, *arguments: object) -> object:
        if isinstance(value, ChainedUndefined):
            str(value)
        return test(value, *arguments)

    return call


def plain(value: object) -> object:
    """A value as playbooks know it: JSON, with lists for every sequence."""
    if isinstance(value, Markup):
        return str(value)
    if value is None or isinstance(value, str | int | float | ChainedUndefined):
        return value
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, Iterable):
        return [plain(item) for item in value]
    return value


def theirs(environment: jinja2.Environment, text: str, scope: Mapping[str, object], *, is_text: bool) -> object:
    try:
        if is_text:
            return environment.from_string(text).render(scope)
        value = plain(environment.compile_expression(text, undefined_to_none=False)(scope))
        return _finished(value)
    except Exception as error:  # noqa: BLE001  whatever Jinja2 raises is its answer
        return Failure(f"{type(error).__name__}: {error}")


def _finished(value: object) -> object:
    if isinstance(value, ChainedUndefined):
        str(value)
    if isinstance(value, complex) or (isinstance(value, float) and not isfinite(value)):
        raise OverflowError
    if isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            _finished(item)
    return value


def ours(text: str, scope: Mapping[str, object], *, is_text: bool) -> object:
    template = parse(text if is_text else "{{ " + text + " }}")
    if template.problems:
        return Failure(f"problem: {template.problems[0].message}")
    try:
        value = template.evaluate(scope)
        return str(value) if is_text else value
    except TemplateError as error:
        return Failure(error.message)


def is_same(mine: object, other: object) -> bool:
    if isinstance(mine, Failure) or isinstance(other, Failure):
        return isinstance(mine, Failure) and isinstance(other, Failure)
    return _typed(mine) == _typed(other)


def _typed(value: object) -> str:
    """Equal only for the same types and the same order of keys: 1, 1.0 and true differ."""
    return repr(value)


INTENDED: dict[str, str] = {
    "only numbers or only texts can be ordered": "lists, mappings and mixed values have no order",
    "cannot compare a list with a list": "lists have no order",
    "the number is too large": "there is no infinity",
    "the result is not a real number": "there are no complex numbers",
    "bits": "whole numbers are bounded",
    "expected a list": "in Jinja2 any falsy value passes as an empty list",
    "an element has no": "Jinja2 sorts and groups undefined as long as nothing is compared",
    "problem: no filter": "what does not exist is found before a run, also where it would not be evaluated",
    "the format has": "a list behind % gives the values of the format",
}
"""Messages of ours where Jinja2 may give a value."""


def is_intended(text: str, mine: object, other: object) -> bool:
    if isinstance(mine, Failure):
        is_undefined = any(words in mine for words in ("is undefined", "has no", "list is empty"))
        return any(words in mine for words in INTENDED) or (is_undefined and any(words in text for words in STRICT))
    if not isinstance(other, Failure):
        return False
    return any(words in text and reason in other for words, reason in LENIENT)


STRICT = ("set v =", ".get(", "int(", "attr(", "items", " in ")
"""Where Jinja2 carries undefined along or takes it for nothing, and we do not."""

LENIENT = (
    # The argument of `default` is only evaluated where it is needed.
    ("default(", ""),
    ("d(", ""),
    # Numbers and other values are indented as the text they read as.
    ("indent(", "for +="),
    ("indent(", "splitlines"),
    # Lists and mappings can be compared for uniqueness.
    ("unique", "unhashable"),
    # An element without the attribute does not pass a test.
    ("attr(", "has no attribute"),
    # A test without an argument may be followed by `if` and `in`.
    (" is ", "TemplateSyntaxError"),
    (" is ", "'in' is undefined"),
    # A list behind % gives the values of the format.
    (" % ", "format string"),
)
"""What a template contains, and Jinja2's complaint, where we give a value."""


def disagreement(environment: jinja2.Environment, text: str, scope: dict[str, object], *, is_text: bool) -> str | None:
    mine, other = ours(text, scope, is_text=is_text), theirs(environment, text, scope, is_text=is_text)
    if is_same(mine, other) or is_intended(text, mine, other):
        return None
    return f"{text!r}\n  ours   {mine!r}\n  jinja2 {other!r}\n  scope  {json.dumps(scope)}"


def compare(first_seed: int, cases: int) -> list[str]:
    """The disagreements of that many generated cases: four expressions to one template."""
    found: list[str] = []
    environment_ = environment()
    for seed in range(first_seed, first_seed + cases):
        corpus, scope = Corpus(seed), scope_of(Random(seed))
        is_text = seed % 5 == 4
        text = corpus.template() if is_text else corpus.expression(2 + seed % 3)
        complaint = disagreement(environment_, text, scope, is_text=is_text)
        if complaint:
            found.append(f"seed {seed}: {complaint}")
    return found


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--count", type=int, default=200_000)
    options.add_argument("--seed", type=int, default=0)
    chosen = options.parse_args()
    total = 0
    for start in count(chosen.seed, 1000):
        if start >= chosen.seed + chosen.count:
            break
        for complaint in compare(start, min(1000, chosen.seed + chosen.count - start)):
            total += 1
            print(complaint)
    print(f"{chosen.count:,} cases, {total:,} disagreements")
    return 1 if total else 0


if __name__ == "__main__":
    raise SystemExit(main())
