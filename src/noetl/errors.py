"""Words for what went wrong, shared by every layer: a template that fails, and the nearest right spelling."""

from collections.abc import Iterable


class TemplateError(Exception):
    """A template could not be evaluated. `start` and `end` are offsets into the template's text.

    Where it is `retryable` the same template may give a value another time, with the same names in scope.
    """

    def __init__(
        self, message: str, *, start: int = 0, end: int = 0, kind: str = "template", retryable: bool = False
    ) -> None:
        super().__init__(message)
        self.message = message
        self.start = start
        self.end = end
        self.kind = kind
        self.retryable = retryable


def closest(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate a person most likely meant, or None when nothing is near."""
    small, best, best_distance = word.lower(), None, _distance_max(word) + 1
    for candidate in candidates:
        other = candidate.lower()
        distance = _distance(small, other, best_distance)
        if distance < best_distance and not _is_chance(small, other):
            best, best_distance = candidate, distance
    return best


def is_one_edit(one: str, other: str) -> bool:
    """Whether two words differ by one letter more, less or other, by a swap of neighbours, or by case alone."""
    return _distance(one.lower(), other.lower(), 2) < 2


def _distance_max(word: str) -> int:
    return 1 if len(word) <= 5 else 2 if len(word) <= 8 else 3


def _is_chance(word: str, other: str) -> bool:
    """Words of up to three letters are near to many: only a swap, or a letter left out, is a likely slip."""
    return len(word) <= 3 and len(other) <= 3 and sorted(word) != sorted(other)


def _distance(a: str, b: str, bound: int) -> int:
    """Edits from a to b where a swap of neighbours is one edit; anything at or above `bound` is `bound`."""
    if abs(len(a) - len(b)) >= bound:
        return bound
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row, previous = row, [i], before
        for j, y in enumerate(b, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, previous[j - 2] + 1)
            row.append(cost)
        if min(row) >= bound:
            return bound
    return row[-1]
