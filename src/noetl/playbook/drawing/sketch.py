"""What a drawing shows of a playbook, whatever its format: boxes for steps, lines for arcs, and their words."""

from enum import StrEnum

import msgspec

from noetl.playbook.drawing.text import one_line, shorten
from noetl.playbook.model import Guard, Join, Loop, LoopMode, Playbook, RouteMode, Step
from noetl.playbook.net.pipeline import build_pipeline
from noetl.playbook.net.routes import Route, build_route

NAME_MAX = 34
DESC_MAX = 40
LABEL_MAX = 38
_KINDS_MAX = 4
_CONSTANTS = {"true": "always", "false": "never"}
_EVENTS = ("step.done", "loop.done", "step.failed")


class Style(StrEnum):
    PLAIN = "plain"
    FAILURE = "failure"
    OTHERWISE = "otherwise"


class Box(msgspec.Struct, frozen=True):
    """A step. `mode` is set where the step has more than one arc; `tooltip` has everything unshortened."""

    name: str
    desc: str
    kinds: str
    loop: str
    tooltip: str
    joins: bool
    is_entry: bool
    is_leaf: bool
    mode: RouteMode | None


class Line(msgspec.Struct, frozen=True):
    """An arc, between boxes by number."""

    source: int
    target: int
    label: str
    tooltip: str
    style: Style


class Sketch(msgspec.Struct, frozen=True):
    title: str
    summary: str
    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]


def sketch(playbook: Playbook) -> Sketch:
    steps = playbook.workflow
    numbers = {step.name: number for number, step in reversed(list(enumerate(steps)))}
    lines = [line for number, step in enumerate(steps) for line in _lines(number, step, numbers)]
    entry = numbers.get(playbook.entry_step)
    title = one_line(playbook.metadata.name)
    return Sketch(
        title=title,
        summary=f"Playbook {title}: {_count(len(steps), 'step')}, {_count(len(lines), 'arc')}",
        boxes=tuple(_box(step, is_entry=number == entry) for number, step in enumerate(steps)),
        lines=tuple(lines),
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _box(step: Step, is_entry: bool) -> Box:
    arcs = step.next.arcs
    return Box(
        name=shorten(step.name, NAME_MAX),
        desc=shorten(step.desc or "", DESC_MAX),
        kinds=_kinds(step),
        loop="" if step.loop is None else _loop(step.loop),
        tooltip=_tooltip(step),
        joins=step.join is Join.ALL,
        is_entry=is_entry,
        is_leaf=not arcs,
        mode=step.next.mode if len(arcs) > 1 else None,
    )


def _kinds(step: Step) -> str:
    kinds = [kind for kind, before in zip(_all_kinds(step), ["", *_all_kinds(step)], strict=False) if kind != before]
    shown = kinds[:_KINDS_MAX]
    more = len(kinds) - len(shown)
    return " › ".join([*shown, f"+{more}"] if more else shown)


def _all_kinds(step: Step) -> list[str]:
    return [task.kind for task in step.tool]


def _loop(loop: Loop) -> str:
    return " / ".join(_level(level) for level in loop.levels())


def _level(loop: Loop) -> str:
    if loop.mode is LoopMode.SEQUENTIAL:
        return f"each {loop.iterator}, sequential"
    limit = loop.max_in_flight if isinstance(loop.max_in_flight, int) else shorten(_bare(loop.max_in_flight), 20)
    return f"each {loop.iterator}, parallel ×{limit}"


def _tooltip(step: Step) -> str:
    tasks = [f"{task.name}: {task.kind}" for task in step.tool]
    return "\n".join([step.name, *([step.desc] if step.desc else []), *tasks])


def _lines(number: int, step: Step, numbers: dict[str, int]) -> list[Line]:
    route = build_route(step, build_pipeline(step.tool))
    return [
        Line(number, numbers[arc.step], *_words(step, route, index))
        for index, arc in enumerate(step.next.arcs)
        if arc.step in numbers
    ]


def _words(step: Step, route: Route, index: int) -> tuple[str, str, Style]:
    """The label, the tooltip and the style of an arc."""
    arcs = step.next.arcs
    guard = arcs[index].when
    tooltip = f"{step.name} → {arcs[index].step}"
    if guard is None:
        is_rest = step.next.mode is RouteMode.EXCLUSIVE and any(_is_rival(route, each) for each in range(index))
        return ("otherwise", tooltip, Style.OTHERWISE) if is_rest else ("", tooltip, Style.PLAIN)
    style = Style.FAILURE if route.is_on_failure(index) else Style.PLAIN
    return shorten(_friendly(guard), LABEL_MAX), f"{tooltip}\nwhen: {_bare(guard)}", style


def _is_rival(route: Route, index: int) -> bool:
    """Whether an earlier arc competes for successes, so that a later one takes the rest."""
    return route.step.next.arcs[index].when is not None and not route.is_on_failure(index)


def _bare(guard: Guard | int) -> str:
    """The guard without its braces."""
    text = one_line(str(guard).lower() if isinstance(guard, bool) else str(guard))
    is_wrapped = text.startswith("{{") and text.endswith("}}")
    return text[2:-2].strip("- ") if is_wrapped else text


def _friendly(guard: Guard) -> str:
    """`event.name == 'step.failed'` is said so often that the event alone says it."""
    text = _bare(guard)
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    for event in _EVENTS:
        for quote in "'\"":
            text = text.replace(f"event.name == {quote}{event}{quote}", event)
    return text
