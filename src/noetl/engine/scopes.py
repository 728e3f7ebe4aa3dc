"""The scopes that templates read and `set` writes: patches as paths, and how they apply."""

from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence

import msgspec

from noetl.engine.binding import BindingFailed, Evaluate, Places, Scope, binder
from noetl.engine.events import Patch, Values
from noetl.engine.reference import External, Reference, word_of

Setter = Callable[[Scope], Patch]

_EMPTY = Patch()


def setter(assignments: Values, path: str, places: Places) -> Setter:
    """Evaluates one `set`. All its expressions see the state before it."""
    if not assignments:
        return lambda _scope: _EMPTY
    parts = [_part(target, value, f"{path}/{target}", places) for target, value in assignments.items()]

    def evaluate(scope: Scope) -> Patch:
        found: dict[str, dict[str, object]] = {"ctx": {}, "step": {}, "iter": {}}
        for name, key, value in parts:
            found[name][key] = value(scope)
        return Patch(found["ctx"], found["step"], found["iter"])

    return evaluate


def _part(target: str, value: object, path: str, places: Places) -> tuple[str, str, Evaluate]:
    """The scope and the key that one assignment writes, and its value, checked."""
    name, _, key = target.partition(".")
    evaluate = binder(value, path, places)

    def checked(scope: Scope) -> object:
        found = evaluate(scope)
        message = _misnamed(target, found) or _unwritable(target, scope.get(name))
        if message is not None:
            raise BindingFailed(places.refusal("template", message, path))
        return found

    return name, key, checked


def _misnamed(target: str, value: object) -> str | None:
    """References go to names that end in `_ref`, and nothing else does; null clears either."""
    is_reference = isinstance(value, Reference)
    if value is None or is_reference == target.endswith("_ref"):
        return None
    if is_reference:
        return f"`{target}` receives a reference, so its name must end in `_ref`"
    return f"`{target}` ends in `_ref`, so it must receive a reference and not {word_of(value)}"


def _unwritable(target: str, value: object) -> str | None:
    """A path can only lead through mappings: what else stands there would be lost."""
    keys = target.split(".")
    for depth, key in enumerate(keys[1:-1], 2):
        value = value.get(key) if isinstance(value, Mapping) else None
        around = ".".join(keys[:depth])
        if isinstance(value, External) and value.holds == "dict":
            return _unwritable_inside(target, around, keys[depth:])
        if value is not None and not isinstance(value, Mapping):
            what = f"is {word_of(value)} and no mapping"
            return f"`{target}` cannot be written, because `{around}` {what}; write `{around}` whole"
    return None


def _unwritable_inside(target: str, around: str, keys: Sequence[str]) -> str | None:
    """A mapping that is stored outside the log takes new values of its own keys; what these hold is not known here."""
    if len(keys) == 1:
        return None
    what = f"`{around}` is stored outside the log and is not read here"
    return f"`{target}` cannot be written, because {what}; write `{around}.{keys[0]}` whole"


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


def iterators(names: Sequence[str], scratch: Values | None) -> dict[str, object]:
    """What iterators are by their bare names, the innermost first; `names` run from the outermost loop inwards."""
    found: dict[str, object] = {}
    level: object = scratch
    for name in reversed(names):
        if isinstance(level, Mapping):
            found.setdefault(name, level.get(name))
            level = level.get("parent")
    return found


def chained(words: Scope, *fallbacks: Scope) -> Scope:
    """Names in the order in which they resolve: scope words first, then tasks, steps, iterators, workload keys."""
    return ChainMap(dict(words), *(dict_like(each) for each in fallbacks))


def dict_like(scope: Scope) -> dict[str, object]:
    return scope if isinstance(scope, dict) else dict(scope)


def _assign(target: dict[str, object], keys: list[str], value: object) -> None:
    for depth, key in enumerate(keys[:-1], 1):
        below = target.get(key)
        if isinstance(below, External):
            inside = overlaid(below.patch, {".".join(keys[depth:]): value})
            target[key] = msgspec.structs.replace(below, patch=inside)
            return
        copied = dict(below) if isinstance(below, Mapping) else {}
        target[key] = copied
        target = copied
    target[keys[-1]] = value


def _is_inside(path: str, outer: str) -> bool:
    return path == outer or path.startswith(outer + ".")
