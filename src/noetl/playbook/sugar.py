"""`choose`, `while` and `until` as canonical tasks: noops whose `before` rules jump.

Every branch ends in a jump to the common end, so nothing falls through. No generated task runs after those of the
author, so that the output is that of the last one which ran. Generated names begin with the sugar's own name and stay
the same as long as it does.
"""

from collections.abc import Sequence

import msgspec

from noetl.playbook.model import Directive, Guard, Policy, Rule, Task, Then


def choose(name: str, branches: Sequence[tuple[Guard, Sequence[Task]]], otherwise: Sequence[Task]) -> list[Task]:
    end = f"{name}_end"
    rules, bodies = [], []
    for number, (when, tasks) in enumerate(branches, 1):
        rules.append(Rule(when, _jump(tasks[0].name if tasks else end)))
        bodies.append(_closed(f"{name}_{number}_end", tasks, end))
    bodies.append(_closed(f"{name}_else_end", otherwise, end))
    rules.append(_else(_jump(otherwise[0].name if otherwise else end)))
    return [_check(f"{name}_choose", *rules), *(task for body in bodies for task in body), _end(end)]


def repeat_while(name: str, when: Guard, tasks: Sequence[Task], rounds_max: int | None) -> list[Task]:
    test, end = f"{name}_test", f"{name}_end"
    return [
        *_counter_start(name, rounds_max),
        _check(test, Rule(when, Then(Directive.CONTINUE)), _else(_jump(end))),
        *_counter_step(name, rounds_max),
        *tasks,
        _check(f"{name}_repeat", _else(_jump(test))),
        _end(end),
    ]


def repeat_until(name: str, when: Guard, tasks: Sequence[Task], rounds_max: int | None) -> list[Task]:
    end = f"{name}_end"
    body = [*(_counter_step(name, rounds_max) or [_noop(f"{name}_round")]), *tasks]
    return [
        *_counter_start(name, rounds_max),
        *body,
        _check(f"{name}_test", Rule(when, _jump(end)), _else(_jump(body[0].name))),
        _end(end),
    ]


def _counter_start(name: str, rounds_max: int | None) -> list[Task]:
    if rounds_max is None:
        return []
    return [_check(f"{name}_enter", _else(Then(Directive.SKIP, set={_counter(name): 0})))]


def _counter_step(name: str, rounds_max: int | None) -> list[Task]:
    if rounds_max is None:
        return []
    counter = _counter(name)
    spent = Rule(f"{{{{ {counter} >= {rounds_max} }}}}", Then(Directive.FAIL))
    count = Then(Directive.CONTINUE, set={counter: f"{{{{ {counter} + 1 }}}}"})
    desc = f"{_spent(name)} {rounds_max} rounds, which is its `max`"
    return [Task(f"{name}_round", "noop", desc=desc, policy=Policy(before=(spent, _else(count))))]


def _spent(name: str) -> str:
    return f"`{name}` has run"


def is_counter(task: Task) -> bool:
    """Whether a task was generated to count the rounds of a repetition; its `desc` says what ends them."""
    return task.desc is not None and task.desc.startswith(f"{_spent(task.name.removesuffix('_round'))} ")


class Repetition(msgspec.Struct, frozen=True):
    """The rounds that a repetition has at most; the task `start` sets the counter to 0."""

    rounds: int
    start: str


def repetition(task: Task) -> Repetition | None:
    """What a task counts that was generated to count the rounds of a repetition."""
    if not is_counter(task):
        return None
    name = task.name.removesuffix("_round")
    rounds = (task.desc or "").removeprefix(f"{_spent(name)} ").partition(" ")[0]
    return Repetition(int(rounds), f"{name}_enter") if rounds.isdecimal() else None


def _counter(name: str) -> str:
    return f"step.{name}_rounds"


def _closed(end_name: str, tasks: Sequence[Task], end: str) -> list[Task]:
    return [*tasks, _check(end_name, _else(_jump(end)))] if tasks else []


def _check(name: str, *before: Rule) -> Task:
    return Task(name, "noop", policy=Policy(before=before))


def _end(name: str) -> Task:
    """A place to jump to, which is no run of a task."""
    return _check(name, _else(Then(Directive.SKIP)))


def _noop(name: str) -> Task:
    return Task(name, "noop")


def _jump(to: str) -> Then:
    return Then(Directive.JUMP, to=to)


def _else(then: Then) -> Rule:
    return Rule(None, then, is_else=True)
