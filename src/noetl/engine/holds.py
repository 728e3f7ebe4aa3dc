"""Which stored objects a fact refers to, and for how long it needs them."""

from collections.abc import Iterator

import msgspec

from noetl.engine.events import Fact, Seed
from noetl.engine.gathering import Gathered
from noetl.engine.output import Output
from noetl.engine.parts import parts_of
from noetl.engine.reference import External, Reference
from noetl.playbook.durations import seconds_of

_OUTPUTS = {(Seed, "outputs"), (Gathered, "data")}
"""Where outputs stand that are no longer records of their own."""


class Hold(msgspec.Struct, frozen=True):
    """A stored object that an execution refers to, until that time; None is for good."""

    sha256: str
    until: float | None = None


Lasting = dict[str, float | None]
"""Objects, and for how many seconds from now; None is for good."""


def extend(known: Lasting, sha256: str, ttl_s: float | None) -> None:
    """Equal bytes are one object: whoever needs it longest decides."""
    before = known.get(sha256, 0.0)
    known[sha256] = None if before is None or ttl_s is None else max(before, ttl_s)


def needed(fact: Fact) -> Iterator[tuple[str, float | None]]:
    """The objects that a fact refers to, some perhaps twice.

    An author may say for how long the output of a task is kept. Where its data is passed on, to `ctx` or as an input,
    it is a value like any other, and those stay.
    """
    return _found(fact, is_output=False)


def _found(value: object, *, is_output: bool) -> Iterator[tuple[str, float | None]]:
    if isinstance(value, Reference):
        yield from _object(value, is_kept=False)
    elif isinstance(value, External):
        yield from _object(value.reference, is_kept=not is_output)
        yield from _found(value.patch, is_output=is_output)
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            inside = is_output or isinstance(value, Output) or (type(value), name) in _OUTPUTS
            yield from _found(getattr(value, name), is_output=inside)
    else:
        for part in parts_of(value):
            yield from _found(part, is_output=is_output)


def _object(reference: Reference, *, is_kept: bool) -> Iterator[tuple[str, float | None]]:
    sha256, ttl = reference.locator.get("sha256"), reference.meta.ttl
    if reference.type == "blob" and isinstance(sha256, str):
        yield sha256, seconds_of(ttl) if ttl is not None and not is_kept else None
