"""What a v10 token carries is what the migrated playbook hands on: both are walked, step by step, side by side."""

from collections.abc import Mapping

from hypothesis import given, settings
from hypothesis import strategies as st

from noetl.expressions.template import is_template, parse
from noetl.playbook.compile import compile_playbook
from noetl.playbook.migrate import migrate
from noetl.playbook.model import Arc, Playbook, Step
from tests.generators.choices import Choices, Seeded, happens, pick, several

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: { name: demo, path: demo }\n"
NAMES = ("a", "b", "c", "d", "e")
KEYS = ("k", "page", "my-key")
MISSING = "missing"
STEPS_MAX = 12

Values = Mapping[str, object]


def written(choices: Choices) -> str:
    """A playbook in v10 words whose steps read some keys and whose arcs hand some on."""
    return f"{HEAD}workflow:\n" + "".join(_step(choices, name) for name in NAMES)


def _step(choices: Choices, name: str) -> str:
    read = "/".join(_reading(choices, key) for key in several(choices, lambda: pick(choices, KEYS), 0, 2))
    arcs = ", ".join(_arc(choices) for _ in range(choices.number(1, 2)))
    own = 'args: { own: "{{ args.k | default(0) }}" }, ' if happens(choices, 5) else ""
    guard = 'spec: { policy: { admit: { rules: [ { when: "{{ args.k != 9 }}", then: { allow: true } } ] } } }, '
    admit = guard if happens(choices, 5) else ""
    kind = "noop" if happens(choices) else f'http, url: "x/{read}"'
    return f"  - {{ step: {name}, {own}{admit}tool: {{ kind: {kind} }}, next: {{ arcs: [ {arcs} ] }} }}\n"


def _reading(choices: Choices, key: str) -> str:
    return f"{{{{ args['{key}'] }}}}" if "-" in key or happens(choices) else f"{{{{ args.{key} }}}}"


def _arc(choices: Choices) -> str:
    given = {key: _value(choices) for key in KEYS if happens(choices)}
    args = ", ".join(f"{key}: {value}" for key, value in given.items())
    target = pick(choices, NAMES)
    return f"{{ step: {target}, args: {{ {args} }} }}" if given else f"{{ step: {target} }}"


def _value(choices: Choices) -> str:
    return pick(choices, ("1", "two", "\"{{ (args.k | default(0)) ~ '+' }}\"", '"{{ workload.x }}"'))


class Walk:
    """One token on its way. What each step sees is noted under the keys it may read."""

    def __init__(self, playbook: Playbook) -> None:
        self.steps = {step.name: step for step in playbook.workflow}
        self.ctx: dict[str, object] = {}
        self.token: Values = {}
        self.seen: list[tuple[str, dict[str, object]]] = []

    def visit(self, name: str) -> Step:
        step = self.steps[name]
        scope = {"args": self.token, "input": self.token, "ctx": self.ctx, "workload": {"x": "x"}}
        bound = {key: _evaluated(value, scope) for key, value in step.input.items()}
        self.given: Values = {**self.token, **bound}
        self.seen.append((name, {key: self.given.get(key, MISSING) for key in KEYS if _reads(step, key)}))
        return step

    def leave(self, arc: Arc) -> str:
        scope = {"args": self.given, "input": self.given, "ctx": self.ctx, "workload": {"x": "x"}}
        handed = {key: _evaluated(value, scope) for key, value in arc.args.items()}
        patches = {target: _evaluated(value, scope) for target, value in arc.set.items()}
        self.ctx |= {target.removeprefix("ctx."): value for target, value in patches.items()}
        self.token = {**self.token, **handed}
        return arc.step


def _evaluated(value: object, scope: Mapping[str, object]) -> object:
    return parse(value).evaluate(scope) if isinstance(value, str) and is_template(value) else value


def _reads(step: Step, key: str) -> bool:
    text = str(step.tool[0].fields.get("url", ""))
    return f".{key} " in text or f"['{key}']" in text


def compiled(text: str) -> Playbook:
    playbook = compile_playbook(text, "generated.yaml").playbook
    assert playbook is not None, text
    return playbook


@settings(max_examples=300)
@given(seed=st.integers(0, 2**32))
def test_every_step_sees_the_values_it_saw_before(seed: int) -> None:
    choices = Seeded(seed)
    text = written(choices)
    migration = migrate(text)
    before, after = Walk(compiled(text)), Walk(compiled(migration.text))
    name = NAMES[0]
    for _ in range(STEPS_MAX):
        old, new = before.visit(name), after.visit(name)
        way = choices.number(0, len(old.next.arcs) - 1)
        name = before.leave(old.next.arcs[way])
        assert after.leave(new.next.arcs[way]) == name
    assert before.seen == after.seen, f"{text}\n{migration.text}"
