"""Which outputs are stored whatever their size, since the playbook's text reads their `.ref`."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from noetl.engine.parts import templates_in
from noetl.expressions.template import NameUse, parse
from noetl.playbook.model import Block, Playbook, Step, Task

_OWN = frozenset({"output", "outcome"})


class Kept(msgspec.Struct, frozen=True):
    """`tasks` are named by the path of their pipeline, such as `workflow/fetch`, and their own name."""

    tasks: frozenset[tuple[str, str]]
    steps: frozenset[str]


def kept_outputs(playbook: Playbook) -> Kept:
    tasks: set[tuple[str, str]] = set()
    all_steps = {step.name for step in playbook.workflow}
    steps = {step.name for step in playbook.workflow if _OWN & _refs(step.set, step.next)}
    steps |= all_steps & _refs(playbook.executor.spec)
    heirs = {step.name for step in playbook.workflow if _OWN & _refs(playbook.executor.spec, *_specs(step))}
    for path, owner in _pipelines(playbook):
        refs = _refs_of(owner)
        names = {task.name for task in owner.tool}
        tasks |= {(path, task.name) for task in owner.tool if task.name in refs or _OWN & _refs(task)}
        if any(_OWN & _refs(task.policy.before) for task in owner.tool if task.policy is not None):
            tasks |= {(path, name) for name in names}
        steps |= all_steps & (refs - names)
    return Kept(frozenset(tasks | _last_tasks(playbook, steps | heirs)), frozenset(steps))


def names_read(owner: Step | Block, playbook: Playbook) -> frozenset[str]:
    """The roots of all names in the templates of a pipeline, of the blocks that it calls and of what all inherit."""
    return frozenset(use.root for use in _uses(playbook.executor.spec, *_owners(owner, playbook)))


def workload_read(step: Step, playbook: Playbook) -> frozenset[str] | None:
    """The keys of the workload that a worker may read for a step, by `workload.key` or bare; None where it is all."""
    _, *blocks = _owners(step, playbook)
    return _keys_of(list(_uses(step.tool, *_specs(step), playbook.executor.spec, playbook.keychain, *blocks)))


def workload_taken(step: Step) -> frozenset[str] | None:
    """The same for what a loop takes once, when it begins: the step's input, the items, and how many run at once."""
    levels = step.loop.levels() if step.loop is not None else ()
    return _keys_of(list(_uses(step.input, *((level.in_, level.max_in_flight) for level in levels))))


def _keys_of(uses: Sequence[NameUse]) -> frozenset[str] | None:
    own = [use.segments for use in uses if use.root == "workload"]
    if not all(own):
        return None
    return frozenset(use.root for use in uses) | frozenset(str(segments[0].name) for segments in own)


def _owners(owner: Step | Block, playbook: Playbook) -> tuple[Step | Block, ...]:
    owners: dict[str, Step | Block] = {"": owner}
    waiting: list[Step | Block] = [owner]
    while waiting:
        for task in waiting.pop().tool:
            block = playbook.workbook.get(str(task.fields.get("task")))
            if block is not None and block.name not in owners:
                owners[block.name] = block
                waiting.append(block)
    return tuple(owners.values())


def _specs(step: Step) -> list[Mapping[str, object]]:
    """The specs that the tasks of a step inherit from it, and from its loops."""
    return [step.spec, *(level.spec for level in (step.loop.levels() if step.loop is not None else ()))]


def _uses(*parts: object) -> Iterator[NameUse]:
    return (use for part in parts for text in templates_in(part) for use in parse(text).names)


def _pipelines(playbook: Playbook) -> Iterator[tuple[str, Step | Block]]:
    for step in playbook.workflow:
        yield f"workflow/{step.name}", step
    for name, block in playbook.workbook.items():
        yield f"workbook/{name}", block


def _refs_of(owner: Step | Block) -> set[str]:
    """Whose `.ref` is read by name; `output.ref` means another thing in each place."""
    return _refs(owner) - _OWN


def _last_tasks(playbook: Playbook, steps: set[str]) -> set[tuple[str, str]]:
    """A step's output is that of its last task run, which may be any; a call hands the block's output on."""
    found: set[tuple[str, str]] = set()
    for step in playbook.workflow:
        if step.name in steps:
            found |= {(f"workflow/{step.name}", task.name) for task in step.tool}
    pending = [task for step in playbook.workflow if step.name in steps for task in step.tool]
    while pending:
        for key, task in _called(playbook, pending.pop()):
            if key not in found:
                found.add(key)
                pending.append(task)
    return found


def _called(playbook: Playbook, task: Task) -> Iterator[tuple[tuple[str, str], Task]]:
    """The tasks of the block that a task calls. Only a `workbook` task has a `task`."""
    block = playbook.workbook.get(str(task.fields.get("task")))
    if block is not None:
        yield from (((f"workbook/{block.name}", each.name), each) for each in block.tool)


def _refs(*parts: object) -> set[str]:
    return {use.root for part in parts for text in templates_in(part) for use in parse(text).names if _reads_ref(use)}


def _reads_ref(use: NameUse) -> bool:
    return bool(use.segments) and use.segments[0].name == "ref"
