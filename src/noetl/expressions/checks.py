"""Checks the name and the arguments of each filter, test, method and function, before anything runs."""

from collections.abc import Callable, Iterable, Mapping
from itertools import islice

from noetl.errors import closest
from noetl.expressions.filters import EACH_FILTERS, FILTERS, REFUSED_FILTERS
from noetl.expressions.functions import FUNCTIONS, REFUSED_FUNCTIONS
from noetl.expressions.methods import METHODS, REFUSED_METHODS
from noetl.expressions.predicates import REFUSED_TESTS, TESTS
from noetl.expressions.signatures import bind, signature_of
from noetl.expressions.syntax import Arguments, Call, Const, Filter, Function, Method, Problem, Test

_FILTER_NAMES = (*FILTERS, *EACH_FILTERS)
_ALIASES = {
    "len": "length",
    "str": "string",
    "sorted": "sort",
    "reversed": "reverse",
    "to_json": "tojson",
    "from_json": "fromjson",
}

_OTHER_NAMES: Mapping[str, Mapping[str, str]] = {
    "filter": _ALIASES,
    "test": {"null": "none", "nil": "none", "empty": "none", "exists": "defined", "set": "defined"},
}
"""What filters and tests are called elsewhere."""


def check_calls(calls: Iterable[Call], problems_max: int) -> list[Problem]:
    return list(islice(filter(None, map(_check, calls)), problems_max))


def _check(call: Call) -> Problem | None:
    match call:
        case Filter():
            return _check_each(call) if call.name in EACH_FILTERS else _check_filter(call)
        case Test():
            return _check_test(call)
        case Method():
            return _check_method(call)
        case _:
            return _check_function(call)


def _check_filter(call: Filter) -> Problem | None:
    end = call.name_start + len(call.name)
    return _lookup("filter", call.name, FILTERS, REFUSED_FILTERS, _FILTER_NAMES, call.name_start, end) or _fit(
        "filter", call.name, FILTERS[call.name], 2, call.arguments, call.name_start, end
    )


def _check_test(call: Test) -> Problem | None:
    end = call.name_start + len(call.name)
    return _lookup("test", call.name, TESTS, REFUSED_TESTS, TESTS, call.name_start, end) or _fit(
        "test", call.name, TESTS[call.name], 2, call.arguments, call.name_start, end
    )


def _check_method(call: Method) -> Problem | None:
    end = call.name_start + len(call.name)
    if call.name not in METHODS and call.name not in REFUSED_METHODS and call.name in _FILTER_NAMES:
        return Problem(
            "method", f"no method `{call.name}`", call.name_start, end, f"Use the filter: `x | {call.name}`."
        )
    return _lookup("method", call.name, METHODS, REFUSED_METHODS, METHODS, call.name_start, end) or _fit(
        "method", call.name, METHODS[call.name], 2, call.arguments, call.name_start, end
    )


def _check_function(call: Function) -> Problem | None:
    end = call.start + len(call.name)
    filter_name = _ALIASES.get(call.name, call.name)
    if call.name not in FUNCTIONS and call.name not in REFUSED_FUNCTIONS and filter_name in _FILTER_NAMES:
        return Problem(
            "function", f"no function `{call.name}`", call.start, end, f"Use the filter: `x | {filter_name}`."
        )
    return _lookup("function", call.name, FUNCTIONS, REFUSED_FUNCTIONS, FUNCTIONS, call.start, end) or _fit(
        "function", call.name, FUNCTIONS[call.name], 1, call.arguments, call.start, end
    )


def _lookup(
    kind: str,
    name: str,
    known: Mapping[str, object],
    refused: Mapping[str, str],
    candidates: Iterable[str],
    start: int,
    end: int,
) -> Problem | None:
    if name in known:
        return None
    if name in refused:
        return Problem(kind, f"the {kind} `{name}` is not part of playbook templates", start, end, refused[name])
    near = _OTHER_NAMES.get(kind, {}).get(name.lower()) or closest(name, candidates)
    hint = f"Did you mean `{near}`?" if near is not None else f"There is: {', '.join(sorted(candidates))}."
    return Problem(kind, f"no {kind} `{name}`", start, end, hint)


def _fit(
    kind: str,
    name: str,
    function: Callable[..., object],
    given: int,
    arguments: Arguments,
    start: int,
    end: int,
) -> Problem | None:
    bound = bind(signature_of(function, given), arguments)
    return Problem(kind, f"the {kind} `{name}` {bound}", start, end) if isinstance(bound, str) else None


def _check_each(call: Filter) -> Problem | None:
    """`map('upper')`, `select('gt', 3)`, `selectattr('status', 'eq', 'ok')`: the inner name must be known as well."""
    positional = call.arguments.positional
    end = call.name_start + len(call.name)
    if call.name == "map":
        return _check_map(call, end)
    if call.arguments.named:
        return Problem("filter", f"the filter `{call.name}` takes no named arguments", call.name_start, end)
    skipped = 1 if call.name.endswith("attr") else 0
    if len(positional) < skipped:
        return Problem("filter", f"the filter `{call.name}` needs the name of an attribute", call.name_start, end)
    if len(positional) == skipped:
        return None
    return _check_inner(call, "test", skipped)


def _check_map(call: Filter, end: int) -> Problem | None:
    named = {name for name, _ in call.arguments.named}
    if call.arguments.positional:
        return _check_inner(call, "filter", 0)
    if "attribute" in named and named <= {"attribute", "default"}:
        return None
    message = "the filter `map` takes the name of a filter, or attribute=... and default=..."
    return Problem("filter", message, call.name_start, end)


def _check_inner(call: Filter, kind: str, skipped: int) -> Problem | None:
    name_node = call.arguments.positional[skipped]
    if not isinstance(name_node, Const) or not isinstance(name_node.value, str):
        message = f"the filter `{call.name}` takes the name of a {kind} as a text"
        return Problem("filter", message, name_node.start, name_node.end, f"Write `{call.name}('...')`.")
    name, start, end = name_node.value, name_node.start, name_node.end
    rest = Arguments(start, end, call.arguments.positional[skipped + 1 :], call.arguments.named)
    if kind == "test":
        return _lookup(kind, name, TESTS, REFUSED_TESTS, TESTS, start, end) or _fit(
            kind, name, TESTS[name], 2, rest, start, end
        )
    return _lookup(kind, name, FILTERS, REFUSED_FILTERS, FILTERS, start, end) or _fit(
        kind, name, FILTERS[name], 2, rest, start, end
    )
