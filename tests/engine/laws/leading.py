"""Generated playbooks tend to end early. Here they are led on: fewer closed doors and failures, longer loops."""

from collections.abc import Mapping

import msgspec

from noetl.playbook.model import Arc, Block, Directive, Loop, LoopMode, Playbook, Policy, Reducer, Rule, Step, Task
from tests.generators.authored import Branch, Choose, Repeat
from tests.generators.choices import Choices, happens, pick

TASK_RUNS_MAX = 25
"""Small, so that jumps that never leave a pipeline end soon."""

SEEN = ("{{ execution_id }}", "{{ iter.index }}", {"a": "{{ workload.limit }}"}, "{{ workload.message }}")
"""What iterations write to one key: the same value, or different ones."""

_FITTING: Mapping[Reducer, object] = {
    Reducer.MERGE: {"k": "{{ iter.index }}", "text": "{{ workload.message }}"},
    Reducer.APPEND: "{{ [iter.index, workload.message] }}",
}


def led_on(its: Playbook, choices: Choices) -> Playbook:
    names = [step.name for step in its.workflow]
    spec = dict(its.executor.spec) | {"limits": {"task_runs_max": TASK_RUNS_MAX}}
    return msgspec.structs.replace(
        its,
        executor=msgspec.structs.replace(its.executor, spec=spec),
        workflow=tuple(_step(step, names[index + 1 :], choices) for index, step in enumerate(its.workflow)),
        workbook={name: _block(block, choices) for name, block in its.workbook.items()},
    )


def _step(step: Step, later: list[str], choices: Choices) -> Step:
    router = step.next
    if later and not happens(choices, 3):
        router = msgspec.structs.replace(router, arcs=(*router.arcs, Arc(pick(choices, later), when="{{ true }}")))
    return msgspec.structs.replace(
        step,
        admit=step.admit if happens(choices, 3) else None,
        timeout_s=step.timeout_s if happens(choices, 3) else None,
        deadline_s=step.deadline_s if happens(choices, 3) else None,
        spec=_without_limits(step.spec),
        loop=_longer(step.loop, choices) if step.loop is not None else None,
        tool=_writing(_tasks(step.tool, choices), step.loop, choices),
        next=router,
    )


def _without_limits(spec: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in spec.items() if key != "limits"}


def _block(block: Block, choices: Choices) -> Block:
    return msgspec.structs.replace(block, tool=_tasks(block.tool, choices))


def _longer(loop: Loop, choices: Choices) -> Loop:
    """Elements have parts, and the parts have parts, so that loops inside find their collection."""
    spec = _without_limits(loop.spec)
    if loop.loop is not None or not happens(choices, 3):
        loop = msgspec.structs.replace(loop, in_=_elements(choices, len(list(loop.levels())), 6))
    return msgspec.structs.replace(loop, spec=spec)


def _elements(choices: Choices, depth: int, most: int) -> list[object]:
    count = choices.number(0, most)
    return [{"id": number, "parts": _elements(choices, depth - 1, 3) if depth else []} for number in range(count)]


def _tasks(tasks: tuple[Task, ...], choices: Choices) -> tuple[Task, ...]:
    return tuple(_task(task, choices) for task in tasks)


def _task(task: Task, choices: Choices) -> Task:
    match task:
        case Choose():
            branches = tuple(Branch(branch.when, _tasks(branch.tool, choices)) for branch in task.branches)
            return msgspec.structs.replace(task, branches=branches, otherwise=_tasks(task.otherwise, choices))
        case Repeat():
            return msgspec.structs.replace(task, tool=_tasks(task.tool, choices))
        case _:
            policy = _policy(task.policy, choices) if task.policy is not None else None
            return msgspec.structs.replace(task, policy=policy)


def _policy(policy: Policy, choices: Choices) -> Policy:
    return msgspec.structs.replace(
        policy,
        rules=tuple(_rule(rule, choices) for rule in policy.rules),
        before=tuple(_rule(rule, choices) for rule in policy.before),
    )


def _rule(rule: Rule, choices: Choices) -> Rule:
    if rule.then.do not in (Directive.FAIL, Directive.BREAK) or happens(choices, 4):
        return rule
    return msgspec.structs.replace(rule, then=msgspec.structs.replace(rule.then, do=Directive.CONTINUE))


def _writing(tasks: tuple[Task, ...], loop: Loop | None, choices: Choices) -> tuple[Task, ...]:
    """The last task of a parallel loop writes what the reducers can take; now and then, keys that no reducer takes."""
    if (
        loop is None
        or all(level.mode is not LoopMode.PARALLEL for level in loop.levels())
        or type(tasks[-1]) is not Task
    ):
        return tasks
    written = {f"ctx.{path}": _FITTING.get(reducer, "{{ iter.index }}") for path, reducer in loop.reduce.items()}
    if happens(choices, 4):
        written["ctx.seen"] = pick(choices, SEEN)
    elif happens(choices, 8):
        written["ctx.seen.deep"] = "{{ iter.index }}"
    return (*tasks[:-1], msgspec.structs.replace(tasks[-1], set=dict(tasks[-1].set) | written))
