"""What executions came to, against what an independent model expects of them."""

from collections.abc import Iterator
from typing import cast

import msgspec

from noetl.engine import events as e
from noetl.engine.output import Output
from noetl.engine.secrets import entries_read
from noetl.playbook.model import Task
from tests.engine.laws.executions import Execution
from tests.engine.laws.outcomes import outcome
from tests.engine.laws.world import World as LawfulWorld
from tests.simulation.books import Book, Books, family
from tests.simulation.ledger import all_tasks
from tests.simulation.model.check import differences, expired, ready
from tests.simulation.model.expected import Expected
from tests.simulation.model.predict import predict
from tests.simulation.model.values import UNSURE
from tests.simulation.plays import Play
from tests.simulation.stage import Playbooks


class Ended(msgspec.Struct, frozen=True):
    """What the model looks at: every execution's facts and last state."""

    executions: dict[str, object]


def unexpected(play: Play, playbooks: Playbooks, books: Books, root: str) -> Iterator[str]:
    """Where a root and its children parted from the model.

    Nothing is said where people, killers or a lack of credentials interfered, or where data grew too large by itself.
    Nor does the model know any secret.
    """
    own = {name: book for name, book in books.books.items() if family(name) == root}
    if own[root].state.status == "cancelled" or any(book.poisoned or _lacked_keys(book) for book in own.values()):
        return
    if reads_secrets(playbooks) or (not play.is_bulky and any(book.has_stored for book in own.values())):
        return
    found = foretold(play, playbooks, books, root)
    yield from differences(cast(LawfulWorld, Ended(dict(own))), _plain(found) if play.is_bulky else found)


def foretold(play: Play, playbooks: Playbooks, books: Books, root: str) -> Expected:
    def answer(execution_id: str, task_run_id: str, task: Task) -> Output:
        return outcome(play.seed, execution_id, task_run_id, ready(task), is_bulky=play.is_bulky)

    late = {name: expired(cast(Execution, book)) for name, book in books.books.items()}
    return predict(play.playbook, answer, playbooks.callee, execution_id=root, expired=late)


def reads_secrets(playbooks: Playbooks) -> bool:
    return any(entries_read(task.task) for program in playbooks.programs.values() for task in all_tasks(program))


def _lacked_keys(book: Book) -> bool:
    """Credentials could not be had for a while, which is an error of the task that needed them."""
    errors = (fact.output.error for fact in book.facts if isinstance(fact, e.TaskDone))
    return any(error is not None and error.kind == "keychain" for error in errors)


def _plain(found: Expected) -> Expected:
    """Values that are stored outside the log are compared elsewhere: here, how it went."""
    children = {name: _plain(child) for name, child in found.children.items()}
    return msgspec.structs.replace(found, ctx=UNSURE, results=UNSURE, error_kinds=UNSURE, children=children)
