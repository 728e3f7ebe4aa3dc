"""Timers and messages that are being answered: each is posted once, and again only if that failed."""

from collections.abc import Hashable

from noetl.control_plane.letters import Letter
from noetl.control_plane.transact import Executions


class Answering:
    """`_under_way` is what was posted and is not answered yet."""

    def __init__(self, executions: Executions) -> None:
        self._executions = executions
        self._under_way: set[Hashable] = set()

    def is_under_way(self, key: Hashable) -> bool:
        return key in self._under_way

    def post(self, execution_id: str, key: Hashable, letter: Letter) -> None:
        self._executions.post(execution_id, letter)
        self._under_way.add(key)
        letter.answer.add_done_callback(lambda _: self._answered(key))

    def _answered(self, key: Hashable) -> None:
        """What could not be answered stays in the store and is found again."""
        self._under_way.discard(key)
