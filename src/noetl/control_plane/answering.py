"""Timers and messages that are being answered: each is posted once, and again only if that failed."""

from noetl.control_plane.letters import Letter
from noetl.control_plane.transact import Executions


class Answering:
    """`_under_way` are the ids that were posted and are not answered yet."""

    def __init__(self, executions: Executions) -> None:
        self._executions = executions
        self._under_way: set[int] = set()

    def is_under_way(self, id_: int) -> bool:
        return id_ in self._under_way

    def post(self, execution_id: str, id_: int, letter: Letter) -> None:
        self._executions.post(execution_id, letter)
        self._under_way.add(id_)
        letter.answer.add_done_callback(lambda _: self._answered(id_))

    def _answered(self, id_: int) -> None:
        """What could not be answered stays in the store and is found again."""
        self._under_way.discard(id_)
