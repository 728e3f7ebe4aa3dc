"""The analysis of a whole playbook: builds its net once and asks every question of it."""

from collections.abc import Iterator, Sequence

from noetl.playbook.model import Playbook
from noetl.playbook.net import cycles
from noetl.playbook.net.arcs import (
    can_fail,
    check_arcs,
    lost_token,
    takes_every_failure,
    unrouted_failure,
)
from noetl.playbook.net.cost import worst_case
from noetl.playbook.net.findings import (
    AdmissionNever,
    Certainty,
    EndlessCycle,
    NetFinding,
    UnreachableStep,
    UnroutedFailures,
)
from noetl.playbook.net.meetings import find_meetings
from noetl.playbook.net.net import Net, build_net, may_admit, must_admit
from noetl.playbook.net.pipeline import build_pipeline
from noetl.playbook.net.walks import check_pipeline, check_rules


def analyse(playbook: Playbook) -> list[NetFinding]:
    """Everything the net tells, in the order of the workflow, then of the workbook."""
    net = build_net(playbook)
    order = net.components()
    return [
        *_unreachable(net),
        *_steps(net, order),
        *_endless(net),
        *find_meetings(net, order),
        *_unrouted(net),
        *_workbook(playbook),
    ]


def _unreachable(net: Net) -> Iterator[NetFinding]:
    sources: dict[int, list[int]] = {}
    for ways in net.ways:
        for way in ways:
            if way.target not in net.reached and way.source != way.target:
                sources.setdefault(way.target, []).append(way.source)
    for number, step in enumerate(net.steps):
        if number not in net.reached:
            unique = dict.fromkeys(sources.get(number, ()))
            yield UnreachableStep(step, tuple(net.steps[source] for source in unique))


def _steps(net: Net, order: Sequence[Sequence[int]]) -> Iterator[NetFinding]:
    group_of = {number: position for position, group in enumerate(order) for number in group}
    for number, step in enumerate(net.steps):
        route, pipeline, admission = net.routes[number], net.pipelines[number], net.admissions[number]
        if step.admit is not None and admission is not None:
            yield from check_rules(step, None, step.admit.rules, admission)
        if not may_admit(step, admission):
            yield AdmissionNever(step)
        yield from check_pipeline(step, pipeline)
        cost = worst_case(step, pipeline)
        if cost is not None:
            yield cost
        yield from check_arcs(route)
        if number in net.runs:
            turns_back = any(group_of.get(target) == group_of[number] for target in net.after_success(number))
            lost = lost_token(route, turns_back)
            if lost is not None:
                yield lost


def _endless(net: Net) -> Iterator[NetFinding]:
    spots = [_spot(net, number) for number in range(len(net.steps))]
    certain = {number for number in net.runs if must_admit(net.steps[number], net.admissions[number])}
    for cycle in cycles.traps(spots, certain.__contains__):
        steps = tuple(net.steps[number] for number in cycle)
        certainty = Certainty.MAY if _failures_lead_out(net, cycle) else Certainty.MUST
        yield EndlessCycle(steps, certainty, any(can_fail(step) for step in steps))


def _spot(net: Net, number: int) -> cycles.Spot:
    route = net.routes[number]
    ways = [cycles.Way(way.target, route.choices.taken[way.index]) for way in net.ways[number]]
    return cycles.Spot(tuple(ways), route.success)


def _failures_lead_out(net: Net, cycle: Sequence[int]) -> bool:
    members = frozenset(cycle)
    ways = [way for number in cycle for way in net.ways[number] if way.target not in members]
    return any(net.routes[way.source].may_take(way.index, net.routes[way.source].failure) for way in ways)


def _unrouted(net: Net) -> Iterator[NetFinding]:
    """One finding for each step whose failures are taken in part, and one for all steps that take none."""
    silent = []
    for number in sorted(net.runs):
        route = net.routes[number]
        if not can_fail(route.step) or takes_every_failure(route):
            continue
        partial = unrouted_failure(route)
        if partial is None:
            silent.append(route.step)
        else:
            yield partial
    if silent:
        yield UnroutedFailures(tuple(silent))


def _workbook(playbook: Playbook) -> Iterator[NetFinding]:
    for block in playbook.workbook.values():
        pipeline = build_pipeline(block.tool)
        yield from check_pipeline(block, pipeline)
        cost = worst_case(block, pipeline)
        if cost is not None:
            yield cost
