"""Spec layering: kind defaults, then executor, step, loop and task; maps merge deeply, everything else replaces."""

from collections.abc import Mapping, Sequence

Spec = Mapping[str, object]


def effective_spec(kind: str, kinds: frozenset[str], *layers: Spec) -> dict[str, object]:
    """The knobs of one task. A block named after a kind applies to tasks of that kind only, within its layer.

    What is no block is a knob, though it is named like a kind: `python: ./venv`.
    """
    merged: dict[str, object] = {}
    for layer in layers:
        general = {key: value for key, value in layer.items() if key not in kinds or not isinstance(value, Mapping)}
        merged = merge(merged, general)
        own = layer.get(kind)
        if isinstance(own, Mapping):
            merged = merge(merged, own)
    return merged


def limit(layers: Sequence[Spec], name: str, default: int) -> int:
    """One of the `limits`; the innermost layer that has it wins."""
    for layer in reversed(layers):
        found = knob(layer, "limits", name)
        if isinstance(found, int):
            return found
    return default


def knob(spec: Spec, block: str, name: str) -> object:
    """What a block of a spec says, such as `result.ttl`; None where it says nothing."""
    found = spec.get(block)
    return found.get(name) if isinstance(found, Mapping) else None


def timeout_of(spec: Spec) -> float | None:
    """Seconds that a run of a task may take: `spec.timeout`, or its `total`."""
    timeout = spec.get("timeout")
    if isinstance(timeout, Mapping):
        timeout = timeout.get("total")
    return float(timeout) if isinstance(timeout, int | float) else None


def merge(outer: Spec, inner: Spec) -> dict[str, object]:
    """Inner wins; two maps under one key are merged in turn."""
    merged = dict(outer)
    for key, value in inner.items():
        below = merged.get(key)
        merged[key] = merge(below, value) if isinstance(below, Mapping) and isinstance(value, Mapping) else value
    return merged
