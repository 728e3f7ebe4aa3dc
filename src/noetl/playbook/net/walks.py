"""What the net inside a pipeline tells: rules that never match, tasks never reached, jumps without an exit."""

from collections.abc import Iterator, Sequence

from noetl.playbook.model import AdmitRule, Block, Directive, Rule, Step, Task
from noetl.playbook.net.choices import Choices
from noetl.playbook.net.cycles import traps
from noetl.playbook.net.findings import (
    Certainty,
    JumpCycle,
    NetFinding,
    NeverReason,
    NeverRule,
    ShadowedRule,
    TasksNeverReached,
)
from noetl.playbook.net.guards import read_guard
from noetl.playbook.net.pipeline import Pipeline, Turn
from noetl.playbook.net.truth import Literal


def check_pipeline(owner: Step | Block, pipeline: Pipeline) -> Iterator[NetFinding]:
    for index, task in enumerate(pipeline.tasks):
        if task.policy is not None:
            yield from check_rules(owner, task, task.policy.before, pipeline.points[2 * index].choices)
            yield from check_rules(owner, task, task.policy.rules, pipeline.points[2 * index + 1].choices)
    yield from _jump_cycles(owner, pipeline)
    yield from _never_reached(owner, pipeline)


def check_rules(
    owner: Step | Block, task: Task | None, rules: Sequence[Rule | AdmitRule], choices: Choices
) -> Iterator[NetFinding]:
    for index, rule in enumerate(rules):
        if choices.is_never_true(index, choices.table.rows):
            yield NeverRule(owner, task, rule, _never_reason(rule.when))
        elif choices.is_never_taken(index, choices.table.rows):
            shadows = choices.shadows_of(index, choices.table.rows)
            # An `else` behind rules that happen to cover everything is prudence, not a mistake.
            if not rule.is_else or len(shadows) == 1:
                yield ShadowedRule(owner, task, rule, tuple(rules[each] for each in shadows))


def _never_reason(guard: str | bool | None) -> NeverReason:
    is_constant = read_guard(guard) == Literal(False)
    return NeverReason.CONSTANT if is_constant else NeverReason.CONTRADICTION


def _jump_cycles(owner: Step | Block, pipeline: Pipeline) -> Iterator[NetFinding]:
    if not pipeline.turns_back:
        return
    spots = [point.spot for point in pipeline.points]
    for cycle in traps(spots, pipeline.reached.__contains__):
        jump = next(_jumps(pipeline, cycle), None)
        if jump is None:
            continue
        number, rule = jump
        tasks = [pipeline.tasks[each] for each in sorted({each // 2 for each in cycle})]
        certainty = Certainty.MAY if _errors_lead_out(pipeline, cycle) else Certainty.MUST
        yield JumpCycle(owner, pipeline.tasks[number // 2], rule, tuple(tasks), certainty)


def _jumps(pipeline: Pipeline, cycle: Sequence[int]) -> Iterator[tuple[int, Rule]]:
    """The jumps that keep a cycle going. A cycle without one is a retry, which its attempts end."""
    members = frozenset(cycle)
    for number in cycle:
        point = pipeline.points[number]
        for turn in point.turns:
            is_jump = turn.directive is Directive.JUMP and turn.way.target in members
            if is_jump and turn.rule is not None and turn.way.taken.may & point.spot.success:
                yield number, turn.rule


def _errors_lead_out(pipeline: Pipeline, cycle: Sequence[int]) -> bool:
    members = frozenset(cycle)

    def leads_out(turn: Turn, errors: int) -> bool:
        outside = turn.way.target not in members and turn.way.target != pipeline.failed
        return outside and bool(turn.way.taken.may & errors)

    points = [pipeline.points[number] for number in cycle]
    return any(leads_out(turn, point.errors) for point in points for turn in point.turns)


def _never_reached(owner: Step | Block, pipeline: Pipeline) -> Iterator[NetFinding]:
    tasks = tuple(task for index, task in enumerate(pipeline.tasks) if 2 * index not in pipeline.reached)
    if tasks:
        yield TasksNeverReached(owner, tasks)
