"""Applies the fixes that diagnostics carry until none is left, and never one that makes a new error."""

from collections import Counter
from collections.abc import Sequence

import msgspec

from noetl.playbook.compile import Compilation, compile_playbook
from noetl.playbook.diagnostics import Diagnostic, Severity
from noetl.playbook.source.edits import apply_fixes as apply_edits
from noetl.playbook.vocabulary import Vocabulary

TRIALS_MAX = 200
"""How often fixes are tried before the rest is left; each trial costs a compilation."""


class Fixed(msgspec.Struct, frozen=True):
    """The text, the diagnostics that were cured, and those that are left in the new text, information aside."""

    text: str
    applied: tuple[Diagnostic, ...]
    left: tuple[Diagnostic, ...]

    @property
    def changed(self) -> bool:
        return bool(self.applied)


def apply_fixes(text: str, vocabulary: Vocabulary | None = None) -> Fixed:
    fixing = _Fixing(text, vocabulary or Vocabulary())
    while fixing.round():
        pass
    left = [found for found in fixing.compilation.diagnostics if found.severity is not Severity.INFO]
    return Fixed(fixing.text, tuple(fixing.applied), tuple(left))


class _Fixing:
    def __init__(self, text: str, vocabulary: Vocabulary) -> None:
        self.text = text
        self.vocabulary = vocabulary
        self.compilation = self._compiled(text)
        self.applied: list[Diagnostic] = []
        self.trials_left = TRIALS_MAX

    def _compiled(self, text: str) -> Compilation:
        return compile_playbook(text, "playbook.yaml", self.vocabulary)

    def round(self) -> bool:
        """Whether anything was fixed."""
        return self._try_most([found for found in self.compilation.diagnostics if found.fix])

    def _try_most(self, found: Sequence[Diagnostic]) -> bool:
        """All fixes at once; where that does harm, the better half of them."""
        if not found or self.trials_left == 0:
            return False
        self.trials_left -= 1
        if self._try(found):
            return True
        half = len(found) // 2
        return half > 0 and (self._try_most(found[:half]) or self._try_most(found[half:]))

    def _try(self, found: Sequence[Diagnostic]) -> bool:
        """Applies the fixes unless they change nothing or do harm."""
        result = apply_edits(self.text, [each.fix for each in found])
        left_out = set(result.refused)
        done = [each for each in found if each.fix not in left_out]
        compilation = self._compiled(result.text)
        if result.text == self.text or _does_harm(self.compilation, compilation, done):
            return False
        self.applied.extend(done)
        self.text, self.compilation = result.text, compilation
        return True


def _does_harm(before: Compilation, after: Compilation, done: Sequence[Diagnostic]) -> bool:
    """Whether fixes made errors. Where they cured some, others may come to light, but not where they touched."""
    new = _errors(after) - _errors(before)
    if not new:
        return False
    is_cure = bool(_errors(before) - _errors(after)) and all(each.severity is Severity.ERROR for each in done)
    return not is_cure or _are_touched(after, new, _new_places(done))


def _new_places(done: Sequence[Diagnostic]) -> list[tuple[int, int]]:
    """Where the edits stand in the new text."""
    places, shift = [], 0
    for edit in sorted({edit for each in done for edit in each.fix}):
        places.append((edit.start + shift, edit.start + shift + len(edit.text)))
        shift += len(edit.text) - (edit.end - edit.start)
    return places


def _are_touched(after: Compilation, new: Counter[str], places: Sequence[tuple[int, int]]) -> bool:
    """Whether an error of a new code begins where something was replaced."""
    lines = after.source.lines
    starts = [
        lines.start(found.span.line) + found.span.column - 1
        for found in after.diagnostics
        if found.severity is Severity.ERROR and found.code in new
    ]
    return any(first <= start <= last for start in starts for first, last in places)


def _errors(compilation: Compilation) -> Counter[str]:
    return Counter(found.code for found in compilation.diagnostics if found.severity is Severity.ERROR)
