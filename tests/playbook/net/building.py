"""Short ways to write the model objects that the net tests need."""

from noetl.playbook.model import (
    Arc,
    Dialect,
    Directive,
    Guard,
    Loop,
    Metadata,
    Playbook,
    Policy,
    RouteMode,
    Router,
    Rule,
    Step,
    Task,
    Then,
)
from noetl.playbook.net import NetFinding, analyse

FAILED = "{{ event.name == 'step.failed' }}"
DONE = "{{ event.name == 'step.done' }}"
LOOP_DONE = "{{ event.name == 'loop.done' }}"
LOOP = Loop("{{ workload.items }}", "item")
HTTP = (Task("call", "http"),)
NOOP = (Task("nothing", "noop"),)


def playbook(*steps: Step, entry: str | None = None) -> Playbook:
    return Playbook(Metadata("test", "tests/net"), Dialect.CANONICAL, entry or steps[0].name, steps)


def exclusive(*arcs: Arc | str) -> Router:
    return Router(RouteMode.EXCLUSIVE, tuple(arc if isinstance(arc, Arc) else Arc(arc) for arc in arcs))


def inclusive(*arcs: Arc | str) -> Router:
    return Router(RouteMode.INCLUSIVE, tuple(arc if isinstance(arc, Arc) else Arc(arc) for arc in arcs))


def step(name: str, router: Router | None = None, tool: tuple[Task, ...] = HTTP, loop: Loop | None = None) -> Step:
    return Step(name, tool=tool, loop=loop, next=router or Router())


def rule(when: Guard, do: Directive, to: str | None = None) -> Rule:
    return Rule(when, Then(do, to=to))


def otherwise(do: Directive, to: str | None = None) -> Rule:
    return Rule(None, Then(do, to=to), is_else=True)


def task(name: str, *rules: Rule, before: tuple[Rule, ...] = ()) -> Task:
    return Task(name, "http", policy=Policy(rules, before))


def found(kind: type[NetFinding], *steps: Step) -> list[NetFinding]:
    """The findings of one kind in a playbook of these steps."""
    return [finding for finding in analyse(playbook(*steps)) if isinstance(finding, kind)]
