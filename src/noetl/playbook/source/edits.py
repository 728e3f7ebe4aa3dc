"""Edits applied to a text. What none covers stays to the byte; of overlapping ones the later is refused."""

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from itertools import pairwise

import msgspec

from noetl.playbook.diagnostics import Edit


class Applied(msgspec.Struct, frozen=True):
    """The new text, and the fixes that were left out because they overlap others or lie outside the text."""

    text: str
    refused: tuple[tuple[Edit, ...], ...]


def apply_edits(text: str, edits: Iterable[Edit]) -> Applied:
    """Apply edits one by one; identical ones count once, insertions at one place keep the given order."""
    return apply_fixes(text, [(edit,) for edit in edits])


def apply_fixes(text: str, fixes: Iterable[Sequence[Edit]]) -> Applied:
    """Apply fixes of one or more edits each, a fix wholly or not at all; the first in the text go first."""
    accepted: list[tuple[int, int, int, str]] = []
    seen: set[Edit] = set()
    refused: list[tuple[Edit, ...]] = []
    for fix in sorted((tuple(fix) for fix in fixes), key=_place):
        fresh = [edit for edit in dict.fromkeys(fix) if edit not in seen]
        if all(_fits(edit, accepted, len(text)) for edit in fresh) and _are_apart(fresh):
            for edit in fresh:
                insort(accepted, (edit.start, edit.end, len(accepted), edit.text))
            seen.update(fresh)
        else:
            refused.append(fix)
    return Applied(_spliced(text, accepted), tuple(refused))


def _place(fix: Sequence[Edit]) -> tuple[int, int]:
    first = min(fix, default=Edit(0, 0, ""))
    return first.start, first.end


def _fits(edit: Edit, accepted: list[tuple[int, int, int, str]], length: int) -> bool:
    if not 0 <= edit.start <= edit.end <= length:
        return False
    at = bisect_left(accepted, (edit.start, edit.end, len(accepted), ""))
    ends_before = at == 0 or accepted[at - 1][1] <= edit.start
    starts_after = at == len(accepted) or edit.end <= accepted[at][0]
    return ends_before and starts_after


def _are_apart(edits: Sequence[Edit]) -> bool:
    ordered = sorted(edits)
    return all(before.end <= after.start for before, after in pairwise(ordered))


def _spliced(text: str, edits: Iterable[tuple[int, int, int, str]]) -> str:
    parts: list[str] = []
    done = 0
    for start, end, _, new in edits:
        parts += (text[done:start], new)
        done = end
    return "".join((*parts, text[done:]))
