"""How long pipelines take, so that a worker holds no work that others could do meanwhile."""

WEIGHT = 0.2
"""What the last one counts beside all before it."""


class Pace:
    def __init__(self) -> None:
        self._mean_s: float | None = None

    def took(self, seconds: float) -> None:
        before = self._mean_s if self._mean_s is not None else seconds
        self._mean_s = before + (seconds - before) * WEIGHT

    def ahead(self, seconds: float, most: int) -> int:
        """How many of them end within so many seconds: at least one, and one where nothing is known."""
        if self._mean_s is None:
            return 1
        return most if self._mean_s * most <= seconds else max(1, int(seconds / self._mean_s))
