"""Whose data it is that a claim refers to and that cannot be had, in the words of the playbook."""

from collections.abc import Iterator

from noetl.engine.cursor import Cursor, Frame
from noetl.engine.events import Values
from noetl.engine.reference import External, Loss, Reference, key_of
from noetl.engine.size import owner_of
from noetl.errors import TemplateError
from noetl.ports import Claim


def told(claim: Claim, reference: Reference, loss: Loss) -> TemplateError:
    """The error of whoever needs the data."""
    step = owner_of(reference, claim.outputs)
    return loss.error_of_step(step) if step is not None else loss.error(_whose(claim, reference))


def _whose(claim: Claim, reference: Reference) -> str:
    if _is_collection(claim, reference):
        return f"the loop of step `{claim.step}`"
    for word, values in _places(claim):
        name = owner_of(reference, values)
        if name is not None:
            return word.format(name)
    return str(dict(reference.locator))


def _is_collection(claim: Claim, reference: Reference) -> bool:
    items = claim.loop.items if claim.loop is not None else None
    stored = items.reference if isinstance(items, External) else items
    return isinstance(stored, Reference) and key_of(stored) == key_of(reference)


def _places(claim: Claim) -> Iterator[tuple[str, Values]]:
    for cursor in _cursors(claim):
        for frame in cursor.frames:
            if isinstance(frame, Frame):
                yield "task `{}`", frame.outputs
    yield from (("`ctx.{}`", claim.ctx), ("`input.{}`", claim.input), ("`workload.{}`", claim.workload))


def _cursors(claim: Claim) -> Iterator[Cursor]:
    if claim.cursor is not None:
        yield claim.cursor
    if claim.loop is not None:
        yield from claim.loop.cursors.values()
