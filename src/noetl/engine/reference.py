"""Data kept elsewhere: references that authors see, and values that were too large to travel in an event.

Both are told from ordinary data by their type, never by their shape. In JSON they carry a mark, and data
that happens to hold the mark is escaped on its way in.
"""

from collections.abc import Callable

import msgspec

from noetl.errors import TemplateError

MARK = "$noetl"
_ESCAPED = "$$noetl"


class ReferenceMeta(msgspec.Struct, frozen=True, omit_defaults=True):
    content_type: str = "application/json"
    bytes: int = 0
    sha256: str | None = None
    ttl: str | None = None
    compression: str | None = None


class Reference(msgspec.Struct, frozen=True, tag_field=MARK, tag="ref"):
    """Where data is stored and how to know it is whole. Authors hold it under names that end in `_ref`."""

    type: str
    locator: dict[str, object]
    auth_reference: str | None = None
    meta: ReferenceMeta = ReferenceMeta()

    def read(self, name: str) -> object:
        """A field of the reference itself, for templates; the data behind it is reached by `kind: resolve` only."""
        if name not in self.__struct_fields__:
            raise TemplateError(f"a reference has no `{name}`: it is a locator, not the data", kind="data_by_reference")
        return msgspec.to_builtins(getattr(self, name))


class External(msgspec.Struct, frozen=True, tag_field=MARK, tag="data"):
    """A value that was too large for an event. It is read back where it is used; a server template may not read it."""

    reference: Reference

    def read(self, name: str) -> object:
        raise TemplateError(
            f"`{name}` cannot be read here: the value is stored outside the log ({self.reference.meta.bytes} bytes). "
            "Lift what a guard needs with `spec.result.select`, or fetch the data with `kind: resolve`",
            kind="data_by_reference",
        )


_TYPES: dict[str, type[Reference | External]] = {"ref": Reference, "data": External}


def escape(data: object) -> object:
    """Foreign data with the mark taken out of its keys, so that it can never pass for a reference."""
    return _walk(data, lambda mapping: {_swap(key, MARK, _ESCAPED): value for key, value in mapping.items()})


def revive(data: object) -> object:
    """Decoded JSON with marked mappings turned back into references."""
    return _walk(data, _revive_mapping)


def _revive_mapping(mapping: dict[str, object]) -> object:
    kind = mapping.get(MARK)
    if isinstance(kind, str) and kind in _TYPES:
        return msgspec.convert(mapping, _TYPES[kind])
    return {_swap(key, _ESCAPED, MARK): value for key, value in mapping.items()}


def _swap(key: str, old: str, new: str) -> str:
    return key.replace(old, new, 1) if key.startswith(old) else key


def _walk(data: object, change: Callable[[dict[str, object]], object]) -> object:
    if isinstance(data, dict):
        return change({key: _walk(value, change) for key, value in data.items()})
    if isinstance(data, list):
        return [_walk(value, change) for value in data]
    return data
