import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from jsonschema import Draft7Validator

from noetl.playbook.compile import compile_playbook
from noetl.playbook.diagnostics import Severity
from noetl.playbook.kinds import KINDS, Kind
from noetl.playbook.rules import RULES
from noetl.playbook.schema import json_schema
from noetl.playbook.shape import Field, Text
from noetl.playbook.source.read import read_source
from noetl.playbook.vocabulary import Vocabulary
from tests.playbook.golden_playbooks import golden_playbooks
from tests.playbook.plain_values import plain_values

SCHEMA = json_schema()
VALIDATOR = Draft7Validator(SCHEMA)

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: a, path: b}\n"

STRUCTURE = (
    "NOE101",
    "NOE102",
    "NOE103",
    "NOE104",
    "NOE105",
    "NOE106",
    "NOE108",
    "NOE109",
    "NOE110",
    "NOE111",
    "NOE113",
    "NOE115",
)
PLACES = ("NOE211", "NOE301", "NOE302", "NOE303", "NOE308", "NOE309", "NOE310", "NOE401", "NOE402")
REFUSED_WORDS = tuple(f"NOE7{number:02}" for number in range(1, 11))
CAUGHT = frozenset(STRUCTURE + PLACES + REFUSED_WORDS)
"""Errors that a schema can see, so that an editor shows them while people type."""

BEFORE_VALUES = tuple(f"NOE0{number:02}" for number in range(1, 12))
COUNTING = ("NOE112", "NOE114", "NOE304", "NOE307")
NAMES = ("NOE201", "NOE202", "NOE203", "NOE204", "NOE205", "NOE206", "NOE209")
SCOPES = ("NOE403", "NOE404", "NOE405", "NOE408", "NOE409")
TEMPLATES = (
    "NOE501",
    "NOE502",
    "NOE503",
    "NOE505",
    "NOE506",
    "NOE507",
    "NOE509",
    "NOE511",
    "NOE512",
    "NOE516",
    "NOE711",
    "NOE712",
)
NOT_CAUGHT = frozenset(BEFORE_VALUES + COUNTING + NAMES + SCOPES + TEMPLATES)
"""Errors that it cannot: of the text before there are values, keys in two places, names, and what templates say."""


def has_values(path: Path) -> bool:
    source, _ = read_source(path.read_bytes(), path.name)
    return source.complete and source.root is not None


PLAYBOOKS = [path for path in golden_playbooks() if has_values(path)]


def errors(text: bytes | str) -> list[str]:
    return [error.message for error in VALIDATOR.iter_errors(plain_values(text))]


def step(yaml: str) -> str:
    """A playbook with one step that has the keys given in flow style."""
    return f"{HEAD}workflow: [{{step: a, {yaml}}}]\n"


def parts(value: object) -> Iterator[dict[str, object]]:
    """Every mapping in a schema."""
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from parts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from parts(inner)


def definition(name: str) -> dict[str, object]:
    definitions = SCHEMA["definitions"]
    assert isinstance(definitions, dict)
    found = definitions[name]
    assert isinstance(found, dict)
    return found


def properties(name: str) -> dict[str, dict[str, object]]:
    found = definition(name)["properties"]
    assert isinstance(found, dict)
    return found


def test_the_schema_is_a_draft_07_schema_without_a_host() -> None:
    Draft7Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == "http://json-schema.org/draft-07/schema#"
    assert str(SCHEMA["$id"]).startswith("urn:")
    assert json.loads(json.dumps(SCHEMA)) == SCHEMA


def test_every_reference_leads_to_a_definition_and_every_definition_is_referred_to() -> None:
    referred = {str(part["$ref"]).removeprefix("#/definitions/") for part in parts(SCHEMA) if "$ref" in part}
    definitions = SCHEMA["definitions"]
    assert isinstance(definitions, dict)
    assert referred == set(definitions)


def test_nothing_stands_beside_a_reference_because_draft_07_would_not_read_it() -> None:
    assert [part for part in parts(SCHEMA) if "$ref" in part and len(part) > 1] == []


def test_every_key_is_described() -> None:
    objects = [
        part for part in parts(SCHEMA) if part.get("type") == "object" and "title" in part and "properties" in part
    ]
    undescribed = [
        f"{its['title']}.{name}"
        for its in objects
        for name, field in (its["properties"] if isinstance(its["properties"], dict) else {}).items()
        if not field.get("description")
    ]
    assert len(objects) > 60
    assert undescribed == []


@pytest.mark.parametrize("path", PLAYBOOKS, ids=lambda path: path.stem)
def test_the_schema_accepts_what_the_compiler_accepts_and_refuses_what_it_can_see(path: Path) -> None:
    compilation = compile_playbook(path.read_bytes(), path.name)
    found = {diagnostic.code for diagnostic in compilation.diagnostics if diagnostic.severity is Severity.ERROR}
    said = errors(path.read_bytes())
    if path.stem[:6] in CAUGHT & found:
        assert said != []
    elif not found:
        assert said == []


def test_of_every_error_it_is_known_whether_a_schema_can_see_it() -> None:
    assert {rule.code for rule in RULES if rule.severity is Severity.ERROR} == CAUGHT | NOT_CAUGHT
    assert CAUGHT.isdisjoint(NOT_CAUGHT)


@pytest.mark.parametrize("code", sorted(CAUGHT))
def test_an_error_that_a_schema_can_see_is_in_a_golden_file(code: str) -> None:
    assert any(path.stem.startswith(code) for path in PLAYBOOKS)


@pytest.mark.parametrize(
    ("yaml", "message"),
    [
        ("tools: {kind: noop}", r"'tools' does not match"),
        ("spec: {timeout: soon}", r"'soon' is not valid under any of the given schemas"),
        ("spec: {timeout: 0}", r"0 is not valid under any of the given schemas"),
        ("spec: {join: some}", r"'some' is not one of \['each', 'all'\]"),
        ("spec: {http: {timeut: 3}}", r"'timeut' does not match"),
        ("spec: {policy: {failure: {}}}", r"'mode' is a required property"),
        ("spec: {policy: [{when: true}]}", r"is not of type 'object'"),
        ("set: {workload.x: 1}", r"'workload.x' does not match"),
        ("set: [ctx.x]", r"is not of type 'object'"),
        ("loop: {in: [1]}", r"'iterator' is a required property"),
        ("loop: {in: [1], iterator: x, loop: {in: [2], iterator: '9'}}", r"'9' does not match"),
        ("loop: {in: [1], iterator: x, spec: {max_in_flight: many}}", r"'many' does not match"),
        ("loop: {in: [1], iterator: x, spec: {policy: {reduce: {a: add}}}}", r"'add' is not one of"),
        ("next: [{step: a}]", r"is not of type 'object'"),
        ("next: {arcs: [{step: a, when: output.ok}]}", r"'output.ok' does not match"),
        ("next: {arcs: [{step: a, when: '{{ x }} and {{ y }}'}]}", r"does not match"),
        ("next: {arcs: [{step: a, when: 1}]}", r"1 is not of type 'boolean', 'string'"),
        ("next: {arcs: [{when: true}]}", r"'step' is a required property"),
        ("when: '{{ x }}'", r"'when' does not match"),
        ("tool: noop", r"'noop' is not of type 'object', 'array'"),
        ("tool: {url: x}", r"'kind' is a required property"),
        ("tool: {kind: htpp}", r"'htpp' is not one of \['noop', 'http'"),
        ("tool: {kind: http}", r"is not valid under any of the given schemas"),
        ("tool: {kind: python}", r"is not valid under any of the given schemas"),
        ("tool: {kind: workbook}", r"'task' is a required property"),
        ("tool: {kind: http, url: x, code: y}", r"'code' does not match"),
        ("tool: [{kind: noop, eval: []}]", r"'eval' does not match"),
        ("tool: [noop]", r"'noop' is not of type 'object'"),
        ("tool: [{fetch: {kind: htpp}}]", r"'htpp' is not one of"),
        ("tool: [{9: {kind: noop}}]", r"'9' does not match"),
        ("tool: [{while: {when: true, tool: []}}]", r"'name' is a required property"),
        ("tool: [{name: w, until: {when: true, tool: [], max: 0}}]", r"0 is less than the minimum of 1"),
        ("tool: [{name: c, choose: []}]", r"\[\] should be non-empty"),
        ("tool: [{name: c, choose: [{tool: {kind: noop}}]}]", r"'when' is a required property"),
        ("tool: [{name: c, choose: [{when: true, tool: {kind: noop, url: x}}]}]", r"'url' does not match"),
        ("tool: {kind: noop, spec: {policy: {rules: [{then: {do: fail}}]}}}", r"'when' is a required property"),
        ("tool: {kind: noop, spec: {policy: {rules: [{else: {do: fail}}]}}}", r"'then' is a required property"),
        ("tool: {kind: noop, spec: {policy: {rules: [{when: true, then: {do: stop}}]}}}", r"'stop' is not one of"),
    ],
)  # fmt: skip
def test_a_structural_mistake_is_refused(yaml: str, message: str) -> None:
    said = errors(step(yaml))
    assert any(re.search(message, text) for text in said), said


@pytest.mark.parametrize(
    "yaml",
    [
        "tool: {kind: http, url: x}",
        "tool: {kind: http, input: {url: x, page: 1}}",
        "tool: [{kind: noop}, {fetch: {kind: http, args: {url: x}}}]",
        "tool: [{name: w, while: {when: '{{ ctx.x }}', max: 3, tool: {kind: noop}}}]",
        "tool: [{name: c, choose: [{when: true, tool: []}, {else: {tool: {kind: noop}}}]}]",
        "args: {x: 1}",
        "next: {arcs: [{step: a, args: {x: 1}, spec: anything}]}",
        """next: {arcs: [{step: a, when: "{{ '}} {{' in output.data or {'a': {'b': 1}}['a'] }}"}]}""",
        "next: {arcs: [{step: a, when: false}]}",
        "loop: {in: '{{ x }}', iterator: x, spec: {max_in_flight: '{{ 3 }}', http: {timeout: {read: 2}}}}",
        "x-note: [1]",
        "set: {ctx: {a: 1}, step.b: 2}",
    ],
)
def test_what_the_language_has_is_accepted(yaml: str) -> None:
    assert errors(step(yaml)) == []


def test_older_words_are_marked_and_refused_words_are_absent() -> None:
    step_keys = properties("step")
    assert step_keys["args"]["deprecated"] is True
    assert "input" in str(step_keys["args"]["deprecationMessage"])
    assert "deprecated" not in step_keys["input"]
    assert {"when", "case", "vars", "sink", "retry", "output"}.isdisjoint(step_keys)


def test_inert_words_are_described_and_take_anything() -> None:
    assert properties("task_policy")["finally"] == {"description": "Reserved. Accepted; it does nothing yet."}


def test_an_entry_of_the_keychain_has_the_keys_of_its_kind() -> None:
    assert errors(f"{HEAD}keychain: [{{name: a, kind: env, var: A}}]\nworkflow: [{{step: a}}]\n") == []
    assert errors(f"{HEAD}keychain: [{{name: a, kind: env}}]\nworkflow: [{{step: a}}]\n") == [
        "'var' is a required property"
    ]
    assert (
        "'vault' is not one of" in errors(f"{HEAD}keychain: [{{name: a, kind: vault}}]\nworkflow: [{{step: a}}]\n")[0]
    )


def test_both_versions_of_the_language_are_offered() -> None:
    assert errors(step("desc: x").replace("v2", "v10")) == []
    assert errors(step("desc: x").replace("v2", "v3")) == [
        "'noetl.io/v3' is not one of ['noetl.io/v2', 'noetl.io/v10']"
    ]


def test_a_kind_of_ones_own_is_part_of_the_schema() -> None:
    ftp = Kind("ftp", "A file server.", {"host": Field("host", Text(), "The server.", required=True)})
    validator = Draft7Validator(json_schema(Vocabulary(kinds=[*KINDS, ftp])))
    assert validator.is_valid(plain_values(step("tool: {kind: ftp, host: x}")))
    assert not validator.is_valid(plain_values(step("tool: {kind: ftp}")))
    assert not validator.is_valid(plain_values(step("tool: {kind: ftp, host: x, port: 1}")))
