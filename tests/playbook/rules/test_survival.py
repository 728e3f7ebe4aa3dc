"""Whatever a playbook looks like, the rules look at it without failing, and every fix leaves YAML behind."""

from collections.abc import Iterator
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from noetl.playbook.compile import DIAGNOSTICS_MAX, compile_playbook
from noetl.playbook.source.edits import apply_edits
from noetl.playbook.source.nodes import Mapping, Node, Sequence
from tests.playbook.rules.golden import pairs

PIECES = (
    "", "5", "true", "~", "[]", "{}", "text", "[ 1, [ 2 ] ]", "{ kind: noop }", "{ do: jump }", "{ when: x }",
    '"{{ ctx.a }}"', '"{{ a b"', ".inf", "1e300", "-5", "[ { else: { then: { do: retry } } }, { when: true } ]",
    "{ name: a, choose: [ { else: {} }, { when: 1 } ] }", "{ in: 5, loop: { iterator: step } }",
    "{ rules: [ { then: { to: 7 } } ] }", "{ step: a, next: [ { step: b } ] }", "{ a: { kind: http } }",
)  # fmt: skip
SAMPLES = tuple(path for path in pairs() if path.stat().st_size < 2_000)


def spans(node: Node) -> Iterator[tuple[int, int]]:
    """Where every key and value stands."""
    yield node.start, node.end
    if isinstance(node, Mapping):
        for entry in node.entries:
            yield entry.key.start, entry.key.end
            yield from spans(entry.value)
    elif isinstance(node, Sequence):
        for item in node.items:
            yield from spans(item)


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A golden playbook in which a few keys or values were replaced by something else."""
    path: Path = draw(st.sampled_from(SAMPLES))
    text = path.read_bytes().decode("utf-8", "replace")
    for _ in range(draw(st.integers(1, 4))):
        root = compile_playbook(text, path.name).source.root
        if root is not None:
            start, end = draw(st.sampled_from(sorted(set(spans(root)))))
            text = text[:start] + draw(st.sampled_from(PIECES)) + text[end:]
    return text


@settings(max_examples=150)
@given(mutated())
def test_the_rules_survive_any_playbook(text: str) -> None:
    found = compile_playbook(text, "mutated.yaml")
    assert len(found.diagnostics) <= DIAGNOSTICS_MAX + 1
    assert all(diagnostic.message and diagnostic.code for diagnostic in found.diagnostics)


@settings(max_examples=100)
@given(mutated())
def test_a_fix_never_makes_a_readable_text_unreadable(text: str) -> None:
    before = compile_playbook(text, "mutated.yaml")
    for diagnostic in before.diagnostics:
        if diagnostic.fix and before.source.complete:
            applied = apply_edits(text, diagnostic.fix)
            after = compile_playbook(applied.text, "mutated.yaml")
            assert after.source.complete, (diagnostic.code, applied.text)
