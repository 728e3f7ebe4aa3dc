"""Pipelines: tasks of all kinds, their policies, and the sugar among them.

A pipeline is made in two passes, first its names and kinds, then the rest: rules jump to tasks and
templates read them, so their names have to be known.
"""

from collections.abc import Sequence
from itertools import count

import msgspec

from noetl.expressions.sites import Site
from noetl.playbook.kinds import KINDS
from noetl.playbook.model import Backoff, Directive, Guard, OnUnmatched, Policy, Rule, Task, Then
from tests.generators.authored import Branch, Choose, Repeat
from tests.generators.choices import Choices, happens, maybe, pick, several
from tests.generators.fields import STORED, fields, knobs
from tests.generators.settings import Setting
from tests.generators.values import SECONDS, assignments, bindings, guard, text

CALLEES = frozenset(kind.name for kind in KINDS if kind.is_callee)
DELAYS: tuple[float | str, ...] = (1.0, 0.0, 2.5, "{{ workload.limit * 2 }}")
BEFORE = tuple(directive for directive in Directive if directive is not Directive.RETRY)


def pipeline(choices: Choices, owner: str, setting: Setting) -> tuple[Task, ...]:
    """The tasks of a `tool`. Sugar stands in it as an author writes it."""
    depth = setting.features.nesting_max if setting.features.sugar else 0
    items = _Outline(choices, setting).body("task", depth, f"{owner}_task")
    names = tuple(item.name for item in items if type(item) is Task)
    scene = msgspec.structs.replace(setting.scene, tasks=names)
    return tuple(
        _filled(choices, item, msgspec.structs.replace(setting, scene=scene, jumps=_jumps(items, position, setting)))
        for position, item in enumerate(items)
    )


def _jumps(items: Sequence[Task], position: int, setting: Setting) -> tuple[str, ...]:
    reachable = items if setting.features.cycles else items[position + 1 :]
    return tuple(item.name for item in reachable if type(item) is Task)


class _Outline:
    """Names and kinds. The names that the compiler gives by itself are among them: those may be left out."""

    def __init__(self, choices: Choices, setting: Setting) -> None:
        self.choices = choices
        self.numbers = count(1)
        self.tasks_max = setting.features.tasks_max
        self.kinds = [kind for kind in setting.features.kinds if kind != "workbook" or setting.blocks]

    def body(self, prefix: str, depth: int, single: str) -> list[Task]:
        size = self.choices.number(1, self.tasks_max)
        return [self.item(f"{prefix}_{index}", depth, [single] if size == 1 else []) for index in range(size)]

    def item(self, default: str, depth: int, single: list[str]) -> Task:
        word = pick(self.choices, ("task", "task", "task", "choose", "while", "until")) if depth else "task"
        number = next(self.numbers)
        if word == "task":
            kind = pick(self.choices, self.kinds)
            return Task(pick(self.choices, [f"{kind}_{number}", default, *single]), kind)
        name = f"{word}_{number}"
        return self.choose(name, depth - 1) if word == "choose" else self.repeat(name, word, depth - 1)

    def choose(self, name: str, depth: int) -> Choose:
        branches = [
            Branch(None, tuple(self.body(f"{name}_{number}", depth, f"{name}_{number}_task")))
            for number in range(1, self.choices.number(1, 2) + 1)
        ]
        otherwise = self.body(f"{name}_else", depth, f"{name}_else_task") if happens(self.choices) else []
        return Choose(name=name, kind="", branches=tuple(branches), otherwise=tuple(otherwise))

    def repeat(self, name: str, word: str, depth: int) -> Repeat:
        rounds_max = maybe(self.choices, lambda: self.choices.number(1, 5))
        tool = tuple(self.body(name, depth, f"{name}_task"))
        return Repeat(name=name, kind="", word=word, when=None, tool=tool, rounds_max=rounds_max)


def _filled(choices: Choices, item: Task, setting: Setting) -> Task:
    match item:
        case Choose():
            branches = tuple(
                Branch(guard(choices, Site.BEFORE_WHEN, setting.scene), _all_filled(choices, branch.tool, setting))
                for branch in item.branches
            )
            otherwise = _all_filled(choices, item.otherwise, setting)
            return msgspec.structs.replace(item, branches=branches, otherwise=otherwise)
        case Repeat():
            when = guard(choices, Site.BEFORE_WHEN, setting.scene)
            return msgspec.structs.replace(item, when=when, tool=_all_filled(choices, item.tool, setting))
        case _:
            return _task(choices, item, setting)


def _all_filled(choices: Choices, tasks: Sequence[Task], setting: Setting) -> tuple[Task, ...]:
    return tuple(_filled(choices, task, setting) for task in tasks)


def _site(kind: str) -> Site:
    return Site.CALL_INPUT if kind in ("playbook", "workbook") else Site.TASK_INPUT


def _task(choices: Choices, outline: Task, setting: Setting) -> Task:
    kind, scene = outline.kind, setting.scene
    own = fields(kind, choices, setting)
    may_have_auth = kind == "http" and happens(choices, 3)
    needs_auth = kind == "postgres" and "dsn" not in own
    return Task(
        name=outline.name,
        kind=kind,
        desc=maybe(choices, lambda: text(choices), 3),
        fields=own,
        input=bindings(choices, _site(kind), scene) if kind in CALLEES else {},
        auth=pick(choices, (STORED, *scene.secrets)) if may_have_auth or needs_auth else None,
        spec=knobs(choices, setting),
        policy=maybe(choices, lambda: policy(choices, setting)),
        set=_task_set(choices, setting),
    )


def _task_set(choices: Choices, setting: Setting) -> dict[str, object]:
    written = assignments(choices, Site.TASK_SET, setting.scene, setting.targets)
    return written | ({"step.saved_ref": "{{ output.ref }}"} if happens(choices, 5) else {})


def policy(choices: Choices, setting: Setting) -> Policy:
    return Policy(
        rules=_rules(choices, setting, (Site.RULE_WHEN, Site.RULE_SET), tuple(Directive)),
        before=_rules(choices, setting, (Site.BEFORE_WHEN, Site.BEFORE_SET), BEFORE),
        on_unmatched=pick(choices, tuple(OnUnmatched)),
    )


def _rules(
    choices: Choices, setting: Setting, sites: tuple[Site, Site], directives: Sequence[Directive]
) -> tuple[Rule, ...]:
    when_site, set_site = sites
    possible = [directive for directive in directives if directive is not Directive.JUMP or setting.jumps]
    conditions = several(choices, lambda: condition(choices, when_site, setting), 0, 2)
    rules = [Rule(when, _then(choices, setting, set_site, possible)) for when in conditions]
    if happens(choices):
        rules.append(Rule(None, _then(choices, setting, set_site, possible), is_else=True))
    return tuple(rules)


def condition(choices: Choices, site: Site, setting: Setting) -> Guard:
    return happens(choices) if happens(choices, 5) else guard(choices, site, setting.scene)


def _then(choices: Choices, setting: Setting, site: Site, directives: Sequence[Directive]) -> Then:
    directive = pick(choices, directives)
    written = assignments(choices, site, setting.scene, setting.targets)
    if directive is Directive.JUMP:
        return Then(directive, to=pick(choices, setting.jumps), set=written)
    return _retry(choices, written) if directive is Directive.RETRY else Then(directive, set=written)


def _retry(choices: Choices, written: dict[str, object]) -> Then:
    return Then(
        Directive.RETRY,
        attempts=choices.number(1, 5),
        backoff=pick(choices, tuple(Backoff)),
        delay=pick(choices, DELAYS),
        max_delay=maybe(choices, lambda: float(pick(choices, SECONDS))),
        jitter=maybe(choices, lambda: float(pick(choices, SECONDS))),
        set=written,
    )
