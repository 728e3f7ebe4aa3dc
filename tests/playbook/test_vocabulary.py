from noetl.playbook.compile import compile_playbook
from noetl.playbook.grammar.root import EXECUTOR_SPEC, METADATA
from noetl.playbook.grammar.workflow import LOOP_SPEC, STEP_SPEC
from noetl.playbook.kinds import KINDS, KeychainKind, Kind
from noetl.playbook.shape import Field, Nested, Number, Text, Values
from noetl.playbook.vocabulary import Vocabulary
from tests.playbook.texts import with_tool

MAIL = Kind("mail", "A letter.", {"to": Field("to", Text(), "Who gets it.", required=True)})


def test_every_kind_has_a_task_shape_whose_fields_stand_on_the_task_and_under_input() -> None:
    vocabulary = Vocabulary()
    assert set(vocabulary.tasks) == {kind.name for kind in KINDS}
    http = vocabulary.tasks["http"]
    assert {"name", "kind", "auth", "url", "input", "spec"} <= http.fields.keys()
    given = http.fields["input"].type
    assert isinstance(given, Nested)
    assert "url" in given.shape().fields


def test_what_a_callee_receives_is_free() -> None:
    assert isinstance(Vocabulary().tasks["python"].fields["input"].type, Values)


def test_a_required_field_is_asked_of_the_task_and_its_input_together() -> None:
    assert not Vocabulary().tasks["http"].fields["url"].required


def test_the_name_of_a_task_is_its_own_even_where_its_kind_has_a_name_too() -> None:
    secrets = Vocabulary().tasks["secrets"]
    assert list(secrets.fields).count("name") == 1
    given = secrets.fields["input"].type
    assert isinstance(given, Nested)
    assert "name" in given.shape().fields


def test_specs_above_the_task_have_a_block_for_each_kind_and_other_shapes_stay_as_they_are() -> None:
    vocabulary = Vocabulary()
    for base in (EXECUTOR_SPEC, STEP_SPEC, LOOP_SPEC):
        shape = vocabulary.spec(base)
        assert {kind.name for kind in KINDS} <= shape.fields.keys()
        assert not shape.is_open
    assert vocabulary.spec(METADATA) is METADATA


def test_a_knob_of_a_kind_replaces_the_common_one() -> None:
    http = Vocabulary().task_specs["http"].fields
    assert http["timeout"].doc != Vocabulary().task_specs["noop"].fields["timeout"].doc
    assert isinstance(http["redirects_max"].type, Number)


def test_a_vocabulary_is_made_of_the_kinds_it_is_given() -> None:
    vocabulary = Vocabulary([MAIL], [KeychainKind("post", "A stamp.", {})])
    assert set(vocabulary.tasks) == {"mail"}
    assert set(vocabulary.keychain) == {"post"}
    text = with_tool("{ kind: mail, to: you }")
    assert compile_playbook(text, "test.yaml", vocabulary).playbook is not None
    assert compile_playbook(text, "test.yaml").playbook is None


def test_a_kind_that_cannot_be_used_is_told_once_with_the_reason() -> None:
    vocabulary = Vocabulary(unusable={"mail": "its package is broken", "noop": "NoETL has it itself"})
    text = with_tool("{ kind: mail, to: you }").replace(
        "workflow:", "executor: { spec: { mail: { a: 1 } } }\nworkflow:"
    )
    (found,) = compile_playbook(text, "test.yaml", vocabulary).diagnostics
    assert (found.code, found.message, found.hint) == (
        "NOE110", 'the kind "mail" cannot be used', "its package is broken",
    )  # fmt: skip


def test_an_unknown_kind_is_told_with_those_that_cannot_be_used() -> None:
    text = with_tool("{ kind: letter }")
    (found,) = compile_playbook(text, "test.yaml", Vocabulary(unusable={"mail": "it is broken"})).diagnostics
    assert found.hint is not None
    assert found.hint.endswith("\nnot `mail`: it is broken")


def test_the_blocks_of_an_output_are_those_of_its_kinds() -> None:
    assert set(Vocabulary().blocks) == {"http", "py", "process", "pg", "duckdb", "playbook"}
    mail = Kind("mail", "A letter.", MAIL.fields, blocks={"mail": ("stamps",)})
    text = with_tool('{ kind: mail, to: you, set: { ctx.n: "{{ output.mail.stamp }}" } }')
    found = compile_playbook(text, "test.yaml", Vocabulary([mail])).diagnostics
    assert found[-1].message == "nothing gives `output.mail.stamp`; did you mean `output.mail.stamps`?"
