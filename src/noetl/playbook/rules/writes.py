"""What the tasks of each pipeline write to `ctx`, by path: `total` for `ctx.total`."""

from collections.abc import Mapping, Sequence

from noetl.playbook.document import Document, SetUse
from noetl.playbook.model import Block, Step
from noetl.playbook.rules.written import title

Writes = Mapping[str, Sequence[SetUse]]


def task_writes(document: Document) -> Mapping[str, Writes]:
    """By the title of the step or block. Step-level and arc-level sets are not among them."""
    found: dict[str, dict[str, list[SetUse]]] = {}
    for use in document.notes.sets:
        if use.site.is_worker_side and use.target.startswith("ctx."):
            paths = found.setdefault(use.place.frame.title, {})
            paths.setdefault(use.target.removeprefix("ctx."), []).append(use)
    return found


def writes_in(document: Document, owner: Step | Block) -> Writes:
    """What one run of the owner's pipeline may write, the blocks that it calls included."""
    by_title = document.once(task_writes)
    own = by_title.get(title(owner), {})
    called = [task.fields.get("task") for task in owner.tool if task.kind == "workbook"]
    if not called:
        return own
    found = {path: list(uses) for path, uses in own.items()}
    for name in called:
        for path, uses in by_title.get(f'workbook block "{name}"', {}).items():
            found.setdefault(path, []).extend(uses)
    return found


def looped(document: Document) -> list[Step]:
    """The steps with a loop. That of a block runs in order, so that nothing of it has to be merged."""
    return [step for step in document.playbook.workflow if step.loop is not None]
