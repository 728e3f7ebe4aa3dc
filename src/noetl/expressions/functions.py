"""The functions a template may call by name, and the well-known ones it may not, with the reason."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from noetl.expressions.runtime import Fault, Frame, charge, kind_of
from noetl.expressions.text_filters import require_int

TemplateFunction: TypeAlias = Callable[..., object]


def range_(frame: Frame, start: object, stop: object = None, step: object = 1) -> list[object]:
    first, last = (0, start) if stop is None else (start, stop)
    if step == 0:
        raise Fault("the step of a range is 0")
    numbers = range(require_int(first), require_int(last), require_int(step))
    try:
        charge(frame, len(numbers))
    except OverflowError:
        raise Fault("the range is too long") from None
    return list(numbers)


def dict_(frame: Frame, mapping: object = None, **named: object) -> dict[object, object]:
    """A mapping made of another one and the given keys, which win."""
    result: dict[object, object] = {}
    if isinstance(mapping, Mapping):
        charge(frame, len(mapping) * 2)
        result.update(mapping)
    elif mapping is not None:
        raise Fault(f"expected a mapping, found {kind_of(mapping)}")
    result.update(named)
    return result


FUNCTIONS: dict[str, TemplateFunction] = {"dict": dict_, "range": range_}

_NO_CLOCK = (
    "Templates have no clock, so that a run can be repeated. Use `output.meta.ts`, or the time in a python task."
)
_NO_RANDOM = "Templates have no randomness, so that a run can be repeated. Use `execution_id`, or a python task."
REFUSED_FUNCTIONS = {
    "cycler": "Use `loop.index0 % 2` inside `{% for %}`.",
    "env": "Templates do not read the environment. Declare a keychain entry or pass a workload key.",
    "joiner": "Use the `join` filter.",
    "lipsum": _NO_RANDOM,
    "namespace": "Values do not change in a template. Use `sum`, `map`, `select` or a python task.",
    "now": _NO_CLOCK,
    "today": _NO_CLOCK,
    "utcnow": _NO_CLOCK,
    "random": _NO_RANDOM,
    "uuid": _NO_RANDOM,
    "uuid4": _NO_RANDOM,
}
