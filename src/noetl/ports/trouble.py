"""How a port says that it did not answer. Whoever asks knows these, and nothing of the adapter behind it."""


class Unavailable(Exception):
    """A port did not answer, or not in time. What was asked may have happened or not."""


class Busy(Unavailable):
    """Too much is waiting; nothing was taken. Ask again after `retry_after_s`."""

    def __init__(self, retry_after_s: float) -> None:
        super().__init__(f"too much is waiting; ask again in {retry_after_s:g} s")
        self.retry_after_s = retry_after_s


class Damaged(Unavailable):
    """What was stored is not what it was; asking again does not help."""
