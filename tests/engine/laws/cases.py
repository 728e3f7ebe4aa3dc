"""What one run is made of: a playbook as text, the playbooks it may call, and the seed of everything that happens."""

import msgspec
from hypothesis import strategies as st

from noetl.playbook.compile import compile_playbook
from noetl.playbook.model import FailureMode, LoopMode, Playbook, RouteMode, Step
from tests.engine.laws.leading import led_on
from tests.generators.choices import Choices, Drawn, Seeded, Simplest, happens
from tests.generators.playbooks import playbook
from tests.generators.settings import Features
from tests.generators.writer import to_yaml
from tests.generators.yaml_text import yaml_text
from tests.playbook.migrate.dialects import Age, aged, canonical

CALLABLE = Features(steps_max=2, tasks_max=2, kinds=("noop", "python", "http"), cycles=False, nesting_max=1)
CALLEES = 3
BULKY_EVERY = 3
"""One case in so many keeps large data outside the log."""


class Case(msgspec.Struct, frozen=True):
    """`seed` decides outcomes and the order of things; the same case always goes the same way.

    In one that `is_bulky` data is large and payloads are small, so that much of it is stored outside the log.
    """

    text: str
    callees: tuple[str, ...]
    seed: int
    is_bulky: bool = False

    def __repr__(self) -> str:
        """Short: a broken law shows the text itself."""
        return f"<a case of seed {self.seed}>"


def cases() -> st.SearchStrategy[Case]:
    """Small ones that shrink well, and large ones that do not."""
    return st.one_of(_drawn_cases(), st.integers(0, 2**32).map(case))


@st.composite
def _drawn_cases(draw: st.DrawFn) -> Case:
    return _case(Drawn(draw), draw(st.integers(0, 2**32)), is_bulky=draw(st.booleans()))


def case(number: int) -> Case:
    """The same without Hypothesis, for campaigns."""
    return _case(Seeded(number), number, is_bulky=is_bulky(number))


def bulky_cases() -> st.SearchStrategy[Case]:
    return st.integers(0, 2**32).map(bulky_case)


def bulky_case(number: int) -> Case:
    return _case(Seeded(number), number, is_bulky=True)


def is_bulky(number: int) -> bool:
    return number % BULKY_EVERY == 0


def _case(choices: Choices, seed: int, *, is_bulky: bool) -> Case:
    features = Features(cycles=happens(choices, 4))
    callees = tuple(to_yaml(playbook(choices, CALLABLE)) for _ in range(choices.number(1, CALLEES)))
    return Case(to_yaml(led_on(playbook(choices, features), choices)), callees, seed, is_bulky)


def one_branch_cases() -> st.SearchStrategy[Case]:
    return st.integers(0, 2**32).map(one_branch_case)


def one_branch_case(number: int) -> Case:
    """Nothing runs beside anything else but iterations of parallel loops, and nothing depends on the time."""
    choices = Seeded(number)
    found = led_on(playbook(choices, Features(cycles=False)), choices)
    steps = tuple(_one_branch(step) for step in found.workflow)
    return Case(to_yaml(msgspec.structs.replace(found, workflow=steps)), (), number, is_bulky(number))


def _one_branch(step: Step) -> Step:
    loop = step.loop
    if loop is not None:
        loop = msgspec.structs.replace(loop, mode=LoopMode.PARALLEL)
    return msgspec.structs.replace(
        step,
        next=msgspec.structs.replace(step.next, mode=RouteMode.EXCLUSIVE),
        failure=FailureMode.BEST_EFFORT,
        timeout_s=None,
        deadline_s=None,
        loop=loop,
    )


def dialect_cases() -> st.SearchStrategy[tuple[Case, Case]]:
    return st.integers(0, 2**32).map(dialect_case)


def dialect_case(number: int) -> tuple[Case, Case]:
    """The same playbook as it is written today and in v10, with the same outcomes in the same order."""
    choices = Seeded(number)
    found = canonical(led_on(playbook(choices, Features(cycles=False)), choices), choices)
    older = aged(found, choices, Age.V10)
    texts = yaml_text(found, Simplest()), yaml_text(older, Simplest())
    return Case(texts[0], (), number, is_bulky(number)), Case(texts[1], (), number, is_bulky(number))


def compiled(text: str) -> Playbook:
    compilation = compile_playbook(text, "generated.yaml")
    assert compilation.playbook is not None, (text, compilation.diagnostics)
    return compilation.playbook
