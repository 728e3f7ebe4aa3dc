"""Older forms of events, brought to today's when they are read. What is stored is never rewritten."""

from collections.abc import Callable, Mapping

from noetl.engine.events import EVENT_VERSION

Payload = dict[str, object]
Step = Callable[[Payload], Payload]

STEPS: Mapping[tuple[str, int], Step] = {}
"""For an event's name and a version, how its payload becomes that of the next version."""


def upcast(name: str, version: int, payload: Payload, steps: Mapping[tuple[str, int], Step] = STEPS) -> Payload:
    for older in range(version, EVENT_VERSION):
        step = steps.get((name, older))
        payload = step(payload) if step is not None else payload
    return payload
