"""What is played: mostly playbooks made at random, and some that lead straight to where systems like this broke."""

from collections.abc import Mapping
from functools import cache
from random import Random

import msgspec

from noetl.playbook.compile import compile_playbook
from noetl.playbook.model import Playbook
from tests.engine.laws.cases import CALLABLE, CALLEES
from tests.engine.laws.leading import led_on
from tests.generators.authored import expand
from tests.generators.choices import Seeded, happens
from tests.generators.playbooks import playbook
from tests.generators.settings import Features
from tests.generators.writer import to_yaml

WRITTEN_SHARE = 0.4
BULKY_SHARE = 0.2
INLINE_BYTES_MAX = 1_000
TTL = "20s"
"""Of what is stored in half of the bulky ones."""

HEAD = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: play, path: play}
executor: {spec: {limits: {task_runs_max: 25}}}
"""

CHILD = (
    HEAD
    + """
workload: {number: 0}
workflow:
  - step: first
    tool:
      - {name: call, kind: http, input: {url: "http://api.test/{{ workload.number }}"}}
    next: {arcs: [{step: second}]}
  - step: second
    tool:
      - {name: work, kind: python, code: "result = 1", set: {ctx.done: "{{ workload.number }}"}}
"""
)

WRITTEN = {
    "a loop step that runs three times": """
workflow:
  - step: again
    spec: {policy: {failure: {mode: best_effort}}}
    loop: {in: [1, 2, 3], iterator: item, spec: {mode: parallel, max_in_flight: 2}}
    tool:
      - {name: work, kind: python, code: "result = 1"}
    next: {arcs: [{step: count}]}
  - step: count
    tool:
      - {name: add, kind: noop, set: {ctx.rounds: "{{ (ctx.rounds | default(0)) + 1 }}"}}
    next: {arcs: [{step: again, when: "{{ ctx.rounds < 3 }}"}]}
""",
    "a collection that its own iterations change": """
workflow:
  - step: begin
    tool:
      - {name: fill, kind: noop, set: {ctx.rows: [10, 20, 30, 40, 50]}}
    next: {arcs: [{step: walk}]}
  - step: walk
    spec: {policy: {failure: {mode: best_effort}}}
    loop: {in: "{{ ctx.rows }}", iterator: row, spec: {mode: sequential}}
    tool:
      - {name: call, kind: http, input: {url: "http://api.test/{{ iter.row }}"}}
      - name: note
        kind: noop
        set: {ctx.rows: "{{ [0] + ctx.rows }}", ctx.seen: "{{ (ctx.seen | default([])) + [iter.row] }}"}
""",
    "children of a loop": """
workflow:
  - step: call
    spec: {policy: {failure: {mode: best_effort}}}
    loop: {in: [1, 2, 3, 4, 5], iterator: item, spec: {mode: parallel, max_in_flight: 2}}
    tool:
      - {name: child, kind: playbook, path: child, input: {number: "{{ iter.item }}"}}
      - {name: after, kind: python, code: "result = 1"}
    next: {arcs: [{step: last}]}
  - step: last
    tool:
      - {name: child, kind: playbook, path: child}
""",
    "long waits": """
workflow:
  - step: wait
    spec: {policy: {failure: {mode: best_effort}}}
    loop: {in: [1, 2, 3, 4], iterator: item, spec: {mode: parallel, max_in_flight: 2}}
    tool:
      - name: try
        kind: http
        input: {url: "http://api.test/"}
        spec:
          policy:
            rules:
              - {when: "{{ _attempt < 3 }}", then: {do: retry, attempts: 5, delay: 7}}
              - {else: {then: {do: continue}}}
    next: {arcs: [{step: once}]}
  - step: once
    tool:
      - name: try
        kind: python
        code: result = 1
        spec:
          policy:
            rules:
              - {when: "{{ _attempt < 2 }}", then: {do: retry, attempts: 5, delay: 9}}
              - {else: {then: {do: continue}}}
""",
    "many iterations of several tasks": """
workflow:
  - step: wide
    spec: {policy: {failure: {mode: best_effort}}}
    loop: {in: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], iterator: item, spec: {mode: parallel, max_in_flight: 3}}
    tool:
      - {name: one, kind: http, input: {url: "http://api.test/{{ iter.item }}"}}
      - {name: two, kind: python, code: "result = 1"}
      - {name: three, kind: python, code: "result = 3"}
""",
    "branches that meet": """
workflow:
  - step: begin
    tool: [{name: work, kind: python, code: "result = 1"}]
    next: {spec: {mode: inclusive}, arcs: [{step: left}, {step: right}, {step: middle}]}
  - step: left
    tool: [{name: work, kind: http, input: {url: "http://api.test/"}}]
    next: {arcs: [{step: both}, {step: both, when: "{{ event.name == 'step.failed' }}"}]}
  - step: right
    tool: [{name: one, kind: python, code: "result = 1"}, {name: two, kind: script, script: "true"}]
    next: {arcs: [{step: both}, {step: both, when: "{{ event.name == 'step.failed' }}"}]}
  - step: middle
    tool: [{name: child, kind: playbook, path: child}]
    next: {arcs: [{step: both}, {step: both, when: "{{ event.name == 'step.failed' }}"}]}
  - step: both
    spec: {join: all}
    tool: [{name: work, kind: python, code: "result = 1"}]
""",
    "loops in loops": """
workflow:
  - step: nested
    spec: {policy: {failure: {mode: best_effort}}}
    loop:
      in: [[1, 2, 3], [4], [5, 6, 7], [8, 9]]
      iterator: rows
      spec: {mode: parallel, max_in_flight: 2}
      loop: {in: "{{ iter.rows }}", iterator: row, spec: {mode: parallel, max_in_flight: 2}}
    tool:
      - {name: work, kind: python, code: "result = 1"}
    next: {arcs: [{step: last, when: "{{ event.name == 'loop.done' }}"}]}
  - step: last
    tool: [{name: work, kind: http, input: {url: "http://api.test/"}}]
""",
    "a guard that breaks": """
workflow:
  - step: a
    tool: [{name: work, kind: python, code: "result = 1", set: {ctx.zero: 0}}]
    next: {arcs: [{step: b, when: "{{ 1 / ctx.zero > 1 }}"}, {step: b, when: "{{ ctx.zero == 1 }}"}]}
  - step: b
    tool: [{name: work, kind: python, code: "result = 1"}]
""",
    "a chain of steps": """
workflow:
  - step: a
    tool: [{name: one, kind: http, input: {url: "http://api.test/"}}, {name: two, kind: python, code: "result = 1"}]
    next: {arcs: [{step: b}]}
  - step: b
    tool: [{name: one, kind: python, code: "result = 3"}, {name: two, kind: http, input: {url: "http://api.test/"}}]
    next: {arcs: [{step: c}]}
  - step: c
    tool: [{name: one, kind: python, code: "result = 1"}, {name: two, kind: script, script: "true"}]
    next: {arcs: [{step: d}]}
  - step: d
    tool: [{name: one, kind: python, code: "result = 1"}]
""",
}

SPECIAL = {
    "a loop whose tools store their data": """
workflow:
  - step: fetch
    spec: {policy: {failure: {mode: best_effort}}}
    loop: {in: [1, 2, 3], iterator: item, spec: {mode: parallel, max_in_flight: 2}}
    tool:
      - {name: get, kind: http, input: {url: "http://api.test/"}, set: {step.own_ref: "{{ output.ref }}"}}
    next: {arcs: [{step: read}]}
  - step: read
    tool: {kind: noop, set: {ctx.found: "{{ fetch.data }}"}}
    next: {arcs: [{step: walk}]}
  - step: walk
    loop: {in: "{{ fetch.data }}", iterator: got, spec: {mode: sequential}}
    tool: {kind: noop, set: {ctx.walked: "{{ (ctx.walked | default([])) + [iter.got] }}"}}
""",
}
"""Those that no seed draws by itself."""


class Play(msgspec.Struct, frozen=True):
    """A playbook and those that it may call. `seed` decides what tools answer.

    In one that `is_bulky` data is large, so that much of it is stored outside the log.
    """

    name: str
    playbook: Playbook
    callees: tuple[Playbook, ...]
    seed: int
    is_bulky: bool = False

    @property
    def text(self) -> str:
        return f"# {self.name}\n{to_yaml(self.playbook)}"


def play(seed: int) -> Play:
    chance = Random(f"{seed}/play")
    number, is_bulky = chance.randrange(2**32), chance.random() < BULKY_SHARE
    if chance.random() < WRITTEN_SHARE:
        found = written(chance.choice(sorted(WRITTEN)), number)
    else:
        found = _random_play(number)
    return bulky(found) if is_bulky else found


def written(name: str, number: int = 1) -> Play:
    return Play(name, compiled(HEAD + (WRITTEN | SPECIAL)[name]), (compiled(CHILD),), number)


def bulky(found: Play) -> Play:
    ttl = {"ttl": TTL} if found.seed % 2 else {}
    callees = tuple(_storing(its, ttl) for its in found.callees)
    return msgspec.structs.replace(found, playbook=_storing(found.playbook, ttl), callees=callees, is_bulky=True)


def _storing(its: Playbook, ttl: Mapping[str, object]) -> Playbook:
    """The playbook, with little room for data inside of events."""
    spec = dict(its.executor.spec) | {"result": {"inline_max_bytes": INLINE_BYTES_MAX, **ttl}}
    return msgspec.structs.replace(its, executor=msgspec.structs.replace(its.executor, spec=spec))


def _random_play(number: int) -> Play:
    """As the laws of the engine make them, without the detour over a text: `expand` is what compiling it gives."""
    choices = Seeded(number)
    features = Features(cycles=happens(choices, 4))
    callees = tuple(expand(playbook(choices, CALLABLE)) for _ in range(choices.number(1, CALLEES)))
    return Play("made at random", expand(led_on(playbook(choices, features), choices)), callees, number)


@cache
def compiled(text: str) -> Playbook:
    compilation = compile_playbook(text, "play.yaml")
    assert compilation.playbook is not None, (text, compilation.diagnostics)
    return compilation.playbook
