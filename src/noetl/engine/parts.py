"""Data and records from the inside: what stands directly in a value, and the templates anywhere below it."""

from collections.abc import Iterable, Iterator

import msgspec

from noetl.expressions.template import is_template


def parts_of(value: object) -> Iterable[object]:
    """The values of a mapping, the elements of a list, the fields of a record; nothing of anything else."""
    if isinstance(value, dict):
        return value.values()
    if isinstance(value, list | tuple):
        return value
    if isinstance(value, msgspec.Struct):
        return (getattr(value, name) for name in value.__struct_fields__)
    return ()


def templates_in(part: object) -> Iterator[str]:
    """Every template inside a part of a playbook."""
    if isinstance(part, str):
        if is_template(part):
            yield part
        return
    for inner in parts_of(part):
        yield from templates_in(inner)
