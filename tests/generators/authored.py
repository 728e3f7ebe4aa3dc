"""Sugar as an author writes it, among the tasks of a model, and what the compiler makes of it."""

from collections.abc import Iterable

import msgspec

from noetl.playbook import sugar
from noetl.playbook.model import Block, Guard, Playbook, Step, Task


class Branch(msgspec.Struct, frozen=True):
    when: Guard
    tool: tuple[Task, ...]


class Choose(Task, frozen=True, kw_only=True):
    branches: tuple[Branch, ...]
    otherwise: tuple[Task, ...]


class Repeat(Task, frozen=True, kw_only=True):
    """`while` or `until`, as `word` says."""

    word: str
    when: Guard
    tool: tuple[Task, ...]
    rounds_max: int | None = None


def expand(playbook: Playbook) -> Playbook:
    """The playbook as the compiler should see it: every piece of sugar replaced by its tasks."""
    return msgspec.structs.replace(
        playbook,
        workflow=tuple(_expanded_step(step) for step in playbook.workflow),
        workbook={name: _expanded_block(block) for name, block in playbook.workbook.items()},
    )


def expand_pipeline(tasks: Iterable[Task]) -> tuple[Task, ...]:
    return tuple(task for item in tasks for task in _expanded(item))


def _expanded_step(step: Step) -> Step:
    return msgspec.structs.replace(step, tool=expand_pipeline(step.tool))


def _expanded_block(block: Block) -> Block:
    return msgspec.structs.replace(block, tool=expand_pipeline(block.tool))


def _expanded(item: Task) -> list[Task]:
    match item:
        case Choose():
            branches = [(branch.when, expand_pipeline(branch.tool)) for branch in item.branches]
            return sugar.choose(item.name, branches, expand_pipeline(item.otherwise))
        case Repeat():
            repeat = sugar.repeat_while if item.word == "while" else sugar.repeat_until
            return repeat(item.name, item.when, expand_pipeline(item.tool), item.rounds_max)
        case _:
            return [item]
