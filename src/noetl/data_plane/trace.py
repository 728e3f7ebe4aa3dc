"""What the log of a worker tells of a bug: where it happened, and not its words, in which a secret may be."""

from collections.abc import Iterator
from traceback import format_tb

CHAIN_MAX = 5
"""How many of the exceptions that led to one another are told."""

FRAMES_MAX = 50
"""How much of each stack is told: its end."""


def trace_of(bug: BaseException) -> str:
    """The stacks and types of a bug and of what it came from, the latter first."""
    return "\nwhich led to:\n".join(reversed([_told(each) for each in _chain(bug)]))


def _chain(bug: BaseException | None) -> Iterator[BaseException]:
    for _ in range(CHAIN_MAX):
        if bug is None:
            return
        yield bug
        bug = bug.__cause__ or (None if bug.__suppress_context__ else bug.__context__)


def _told(bug: BaseException) -> str:
    return "".join(format_tb(bug.__traceback__, -FRAMES_MAX)) + type(bug).__name__
