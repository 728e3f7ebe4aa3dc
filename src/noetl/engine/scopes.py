"""The scopes that templates read and `set` writes: patches as paths, and how they apply."""

from collections import ChainMap
from collections.abc import Callable, Mapping

from noetl.engine.binding import BindingFailed, Evaluate, Places, Scope, binder
from noetl.engine.events import Patch, Values
from noetl.engine.output import Error
from noetl.engine.reference import External, Reference

Setter = Callable[[Scope], Patch]

_EMPTY = Patch()


def setter(assignments: Values, path: str, places: Places) -> Setter:
    """Evaluates one `set`. All its expressions see the state before it."""
    if not assignments:
        return lambda _scope: _EMPTY
    parts = [(target, binder(value, f"{path}/{target}", places)) for target, value in assignments.items()]

    def evaluate(scope: Scope) -> Patch:
        found: dict[str, dict[str, object]] = {"ctx": {}, "step": {}, "iter": {}}
        for target, value in parts:
            name, _, key = target.partition(".")
            found[name][key] = _checked(target, value, scope, f"{path}/{target}")
        return Patch(found["ctx"], found["step"], found["iter"])

    return evaluate


def patched(scope: Values, patch: Values) -> dict[str, object]:
    """The scope with a patch applied; nothing that was there before is changed in place."""
    result = dict(scope)
    for path, value in patch.items():
        _assign(result, path.split("."), value)
    return result


def overlaid(first: Values, second: Values) -> Values:
    """One patch that does what the first and then the second would do."""
    if not first or not second:
        return first or second
    kept = {path: value for path, value in first.items() if not any(_is_inside(path, newer) for newer in second)}
    return kept | dict(second)


def chained(words: Scope, *fallbacks: Scope) -> Scope:
    """Names in the order in which they resolve: scope words first, then tasks, steps, iterators, workload keys."""
    return ChainMap(dict(words), *(dict_like(each) for each in fallbacks))


def dict_like(scope: Scope) -> dict[str, object]:
    return scope if isinstance(scope, dict) else dict(scope)


def _assign(target: dict[str, object], keys: list[str], value: object) -> None:
    for key in keys[:-1]:
        below = target.get(key)
        copied = dict(below) if isinstance(below, Mapping) else {}
        target[key] = copied
        target = copied
    target[keys[-1]] = value


def _is_inside(path: str, outer: str) -> bool:
    return path == outer or path.startswith(outer + ".")


def _checked(target: str, value: Evaluate, scope: Scope, path: str) -> object:
    found = value(scope)
    is_reference = isinstance(found, Reference)
    if is_reference == target.endswith("_ref") or isinstance(found, External):
        return found
    if is_reference:
        message = f"`{target}` receives a reference, so its name must end in `_ref`"
    else:
        message = f"`{target}` ends in `_ref`, so it must receive a reference and not {type(found).__name__}"
    raise BindingFailed(Error("template", message, details={"path": path}))
