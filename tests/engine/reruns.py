"""What the tests of reruns share: playbooks, a tool that can fail, and executions that were cancelled in the middle."""

from collections.abc import Callable, Mapping

from noetl.engine import events as e
from noetl.engine.codec import decode, encode
from noetl.engine.commands import CancelExecution, RequestExecution
from noetl.engine.envelope import Event, stamp
from noetl.engine.evolve import fold
from noetl.engine.output import Output, failed
from noetl.engine.rerun import Cut
from tests.engine.driver import Driver
from tests.engine.rerunning import rerun

HEAD = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: { name: demo, path: demo }
"""


def loop(mode: str, failure: str, body: str = "", item: str = "iter.item") -> str:
    return f"""{HEAD}
workflow:
  - step: start
    set: {{ ctx.seen: 100 }}
    next: {{ arcs: [ {{ step: each }} ] }}
  - step: each
    spec: {{ policy: {{ failure: {{ mode: {failure} }} , lifecycle: {{ deadline_s: 50 }} }} }}
    loop:
      in: [10, 11, 12, 13]
      iterator: item
      spec: {{ mode: {mode}, max_in_flight: 2, policy: {{ reduce: {{ seen: sum }} }} }}
{body}
    tool:
      - name: work
        kind: python
        code: x
        input: {{ item: "{{{{ {item} }}}}", n: "{{{{ iter.index }}}}", k: "{{{{ step.k | default(0) }}}}" }}
        set: {{ ctx.seen: "{{{{ {item} }}}}", step.k: "{{{{ iter.index }}}}" }}
    next:
      arcs: [ {{ step: after, when: "{{{{ event.name == 'loop.done' }}}}" }} ]
  - step: after
    tool: {{ kind: python, code: x, input: {{ all: "{{{{ each.data }}}}", seen: "{{{{ ctx.seen }}}}" }} }}
"""


DEEP = """
      loop:
        in: "{{ [1, 2] if iter.item > 10 else [] }}"
        iterator: part
        loop: { in: [3, 4, 5], iterator: piece, spec: { mode: parallel } }
"""


PIECES = [[item, part, piece] for item in (11, 12, 13) for part in (1, 2) for piece in (3, 4, 5)]


def deep(failure: str) -> str:
    text = loop("parallel", failure, DEEP, "[iter.parent.parent.item, iter.parent.part, iter.piece]")
    assert 'set: { ctx.seen: "' in text
    return text.replace('set: { ctx.seen: "', 'set: { iter.seen: "')


def succeeded(driver: Driver) -> list[object]:
    return [fact.output.data for fact in driver.facts if isinstance(fact, e.IterationDone) and len(fact.path) == 3]


class Calls:
    """A tool that notes its calls and fails where it is told to."""

    def __init__(self, fails: Callable[[str, Mapping[str, object]], bool] = lambda _name, _given: False) -> None:
        self.fails = fails
        self.made: list[tuple[str, Mapping[str, object]]] = []

    def __call__(self, name: str, _fields: Mapping[str, object], given: Mapping[str, object]) -> Output:
        self.made.append((name, given))
        if self.fails(name, given):
            return failed("exception", "told to fail")
        return Output(data=given.get("item", f"{name} {len(self.made)}"))

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.made]


def again(text: str, origin: Driver, cut: Cut, tool: Calls) -> Driver:
    request = rerun(origin.program, "x", origin.facts, cut, now=7.0)
    assert isinstance(request, RequestExecution), request
    driver = Driver(text, tool, request=("y", request)).run()
    assert fold(driver.program, "y", read_back(driver.facts)) == driver.state
    return driver


def read_back(facts: list[e.Fact]) -> list[e.Fact]:
    events = stamp(facts, execution_id="x", after=0, timestamp=0.0, parent=None)
    found = [decode(encode(event)) for event in events]
    return [event.fact for event in found if isinstance(event, Event)]


def half_way(text: str, tool: Calls, moves: int, *, seed: int | None = None, **playbooks: str) -> Driver:
    """An execution that was cancelled in the middle."""
    origin = Driver(text, tool, seed=seed, playbooks=playbooks).run(moves)
    assert not origin.state.has_ended
    origin.send(CancelExecution("enough"))
    assert origin.state.status == "cancelled"
    return origin


def items_done(driver: Driver, depth: int = 1) -> list[object]:
    ended = (fact for fact in driver.facts if isinstance(fact, e.IterationDone) and not fact.call)
    return [fact.output.data for fact in ended if len(fact.path) == depth]


def items_called(tool: Calls) -> list[object]:
    return [given["item"] for _, given in tool.made if "item" in given]
