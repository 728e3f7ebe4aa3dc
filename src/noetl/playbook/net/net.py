"""The net of a playbook: steps as numbered places, arcs that can be taken as ways between them."""

from collections.abc import Sequence

import msgspec

from noetl.playbook.model import Admit, Playbook, Step
from noetl.playbook.net.choices import Choices, entering_choices
from noetl.playbook.net.cycles import components, reachable
from noetl.playbook.net.pipeline import Pipeline, build_pipeline
from noetl.playbook.net.routes import Route, build_route


class Way(msgspec.Struct, frozen=True, gc=False):
    """An arc that leads to a step of the playbook: from step `source`, the arc at `index`, to step `target`."""

    source: int
    index: int
    target: int


class Net(msgspec.Struct, frozen=True, gc=False):
    """`runs` are the steps that a run may come to and that may be admitted; `reached` includes those denied.

    `success_ways` are those that a success may take, unlikely ones left out.
    """

    steps: tuple[Step, ...]
    routes: tuple[Route, ...]
    pipelines: tuple[Pipeline, ...]
    admissions: tuple[Choices | None, ...]
    ways: tuple[tuple[Way, ...], ...]
    success_ways: tuple[tuple[Way, ...], ...]
    reached: frozenset[int]
    runs: frozenset[int]

    def after_success(self, number: int) -> list[int]:
        return [way.target for way in self.success_ways[number]]

    def components(self) -> list[list[int]]:
        return components(sorted(self.runs), self.after_success)


def build_net(playbook: Playbook) -> Net:
    steps = playbook.workflow
    pipelines = tuple(build_pipeline(step.tool) for step in steps)
    routes = tuple(build_route(step, pipeline) for step, pipeline in zip(steps, pipelines, strict=True))
    admissions = tuple(None if step.admit is None else _admission(step.admit) for step in steps)
    ways = _ways(steps)
    entry = [number for number, step in enumerate(steps) if step.name == playbook.entry_step][:1]
    denied = {number for number, step in enumerate(steps) if not may_admit(step, admissions[number])}

    def onward(number: int) -> list[int]:
        if number in denied:
            return []
        route = routes[number]
        rows = route.success | route.failure
        return [way.target for way in ways[number] if route.may_take(way.index, rows)]

    reached = frozenset(reachable(entry, onward))
    success_ways = tuple(_success_ways(route, each) for route, each in zip(routes, ways, strict=True))
    return Net(steps, routes, pipelines, admissions, ways, success_ways, reached, reached - denied)


def _success_ways(route: Route, ways: Sequence[Way]) -> tuple[Way, ...]:
    rows = route.success & ~route.odd
    return tuple(way for way in ways if route.may_take(way.index, rows))


def may_admit(step: Step, admission: Choices | None) -> bool:
    if step.admit is None or admission is None:
        return True
    return any(taken.may for rule, taken in zip(step.admit.rules, admission.taken, strict=True) if rule.allow)


def must_admit(step: Step, admission: Choices | None) -> bool:
    if step.admit is None or admission is None:
        return True
    refused = admission.none.may
    for rule, taken in zip(step.admit.rules, admission.taken, strict=True):
        refused |= 0 if rule.allow else taken.may
    return not refused


def _admission(admit: Admit) -> Choices:
    return entering_choices(tuple(rule.when for rule in admit.rules))


def _ways(steps: Sequence[Step]) -> tuple[tuple[Way, ...], ...]:
    """Arcs to steps that do not exist lead nowhere; of two steps with one name the first is meant."""
    numbers = {step.name: number for number, step in reversed(list(enumerate(steps)))}
    return tuple(
        tuple(Way(number, index, numbers[arc.step]) for index, arc in enumerate(step.next.arcs) if arc.step in numbers)
        for number, step in enumerate(steps)
    )
