import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft7Validator

from noetl.playbook.compile import Compilation, compile_playbook
from noetl.playbook.diagnostics import Severity
from noetl.playbook.model import Directive, Playbook, decode, encode
from noetl.playbook.schema import json_schema
from tests.generators.authored import expand
from tests.generators.choices import Choices, Seeded, Simplest
from tests.generators.playbooks import playbooks
from tests.generators.settings import Features
from tests.generators.writer import to_yaml
from tests.playbook.golden_playbooks import canonical_playbooks
from tests.playbook.plain_values import plain_values

VALIDATOR = Draft7Validator(json_schema())


def styles() -> st.SearchStrategy[Choices]:
    return st.builds(Simplest) | st.builds(Seeded, st.integers(0, 2**32))


def compiled(text: str) -> Compilation:
    compilation = compile_playbook(text, "generated.yaml")
    errors = [found for found in compilation.diagnostics if found.severity is Severity.ERROR]
    assert errors == [], text
    return compilation


def model(text: str) -> Playbook:
    playbook = compiled(text).playbook
    assert playbook is not None
    return playbook


@settings(max_examples=60)
@given(playbooks(), styles())
def test_a_playbook_written_in_any_spelling_compiles_to_itself(playbook: Playbook, style: Choices) -> None:
    meant, found = expand(playbook), model(to_yaml(playbook, style))
    assert found == meant
    assert found.digest == meant.digest
    assert decode(encode(found)) == found


@pytest.mark.parametrize(("name", "playbook"), canonical_playbooks().items())
def test_a_golden_playbook_survives_being_written_anew(name: str, playbook: Playbook) -> None:
    for style in (Simplest(), Seeded(len(name))):
        assert encode(model(to_yaml(playbook, style))) == encode(playbook)


@settings(max_examples=60)
@given(playbooks(), styles(), styles())
def test_text_to_model_to_text_to_model_is_the_identity(playbook: Playbook, first: Choices, then: Choices) -> None:
    once = model(to_yaml(playbook, first))
    assert encode(model(to_yaml(once, then))) == encode(once)


@settings(max_examples=60)
@given(playbooks(), styles())
def test_the_schema_accepts_every_playbook_that_compiles(playbook: Playbook, style: Choices) -> None:
    text = to_yaml(playbook, style)
    assert [error.message for error in VALIDATOR.iter_errors(plain_values(text))] == []


@settings(max_examples=60)
@given(playbooks(), styles())
def test_every_template_of_a_compiled_playbook_has_a_place_in_the_file(playbook: Playbook, style: Choices) -> None:
    compilation = compiled(to_yaml(playbook, style))
    last = compilation.source.text.count("\n") + 1
    assert all(1 <= span.line <= span.end_line <= last for span in compilation.source_map().values())


@settings(max_examples=60)
@given(playbooks(Features(cycles=False)))
def test_without_cycles_arcs_and_jumps_lead_forward(playbook: Playbook) -> None:
    order = [step.name for step in playbook.workflow]
    assert playbook.entry_step == order[0]
    for index, step in enumerate(playbook.workflow):
        assert all(arc.step in order[index + 1 :] for arc in step.next.arcs)
        names = [task.name for task in step.tool]
        for position, task in enumerate(step.tool):
            rules = task.policy.rules + task.policy.before if task.policy is not None else ()
            assert all(rule.then.to in names[position + 1 :] for rule in rules if rule.then.do is Directive.JUMP)
