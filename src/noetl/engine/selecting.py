"""`spec.result.select`: small values that a worker lifts out of a task's data for all who do not hold that data."""

from collections.abc import Callable, Mapping, Sequence

from noetl.engine.binding import BindingFailed, Places, Scope, binder
from noetl.engine.events import Values
from noetl.engine.layering import knob
from noetl.engine.reference import encode_value

SELECTED_BYTES_MAX = 16 * 1024
"""The most that all selected values of one output may take up as JSON. They stand in the log and in each claim."""

Select = Callable[[Scope], Values]


def selector(spec: Values, kind: str, layers: Sequence[str], places: Places) -> Select | None:
    """Evaluates what the layered spec of a task selects. `layers` are the paths of the specs, the innermost last."""
    selected = knob(spec, "result", "select")
    if not isinstance(selected, Mapping) or not selected:
        return None
    paths = {name: _path(name, kind, layers, places) for name in selected}
    parts = [(name, binder(value, paths[name], places)) for name, value in selected.items()]

    def select(scope: Scope) -> Values:
        found = {name: part(scope) for name, part in parts}
        sizes = {name: len(encode_value(value)) for name, value in found.items()}
        if sum(sizes.values()) > SELECTED_BYTES_MAX:
            largest = max(sizes, key=lambda name: sizes[name])
            raise BindingFailed(places.refusal("template", _too_large(largest, sizes), paths[largest]))
        return found

    return select


def _path(name: str, kind: str, layers: Sequence[str], places: Places) -> str:
    """Where a name was selected: in the innermost spec that has it, before that in its block for the kind."""
    ends = [f"{kind}/result/select/{name}", f"result/select/{name}"]
    written = (f"{layer}/{end}" for layer in reversed(layers) for end in ends)
    return next((path for path in written if path in places.spans), f"{layers[-1]}/{ends[-1]}")


def _too_large(largest: str, sizes: Mapping[str, int]) -> str:
    return (
        f"`spec.result.select` may give {SELECTED_BYTES_MAX:,} bytes in all and gave {sum(sizes.values()):,}; "
        f"`{largest}` is the largest of them with {sizes[largest]:,}. Select less of it, such as a count"
    )
