import pytest

from noetl.playbook import structure
from noetl.playbook.source.nodes import Mapping, Sequence
from noetl.playbook.structure import Finding, RuleList, is_name, labelled, sugar_word
from tests.playbook.texts import document, whole, with_step, with_tool


def findings(text: str) -> list[Finding]:
    return [finding for finding in document(text).findings if not isinstance(finding, RuleList)]


def kinds(text: str) -> list[str]:
    return [type(finding).__name__ for finding in findings(text)]


FULL = whole(
    """
    keychain:
      - { name: pg, kind: postgres_credential, credential: main }
    executor:
      kind: distributed
      version: 2
      spec:
        entry_step: load
        timeout: { connect: 1, total: 5 }
        http: { timeout: { read: 2 }, verify_tls: true }
        policy: { limits: { max_payload_bytes: 1000 } }
    workload: { rows: [1, 2, 3] }
    workflow:
      - step: load
        desc: 42
        spec:
          join: all
          timeout: 1.5
          policy:
            admit:
              on_deny: wait
              rules: [ { when: true, then: { allow: true } }, { else: { then: { allow: false } } } ]
            failure: { mode: best_effort }
            lifecycle: { timeout_s: 1, deadline_s: 2 }
        loop:
          in: "{{ workload.rows }}"
          iterator: row
          spec: { mode: parallel, max_in_flight: "{{ workload.n }}", policy: { exec: local, reduce: { total: sum } } }
        tool:
          - name: get
            kind: http
            auth: pg
            input: { url: "https://example.com", response: json }
            spec:
              timeout: { connect: 1 }
              policy:
                on_unmatched: fail
                before: [ { when: "{{ true }}", then: { do: skip } } ]
                rules:
                  - when: "{{ output.status == 'error' }}"
                    then: { do: retry, attempts: 2, backoff: linear, delay: "{{ workload.d }}", jitter: 0 }
                  - else: { then: { do: continue, set: { ctx.total: 1 } } }
        next:
          spec: { mode: inclusive }
          arcs: [ { step: load, when: false, set: { ctx.a: 1 } } ]
    workbook:
      block: { tool: { kind: noop } }
    x-mine: anything
    """
)


def test_a_document_that_uses_every_part_of_the_grammar_has_no_findings() -> None:
    assert kinds(FULL) == []


def test_lists_of_rules_are_noted_with_the_key_they_stand_under() -> None:
    found = [finding for finding in document(FULL).findings if isinstance(finding, RuleList)]
    assert [(rules.field.name, rules.shape.title, len(rules.node.items)) for rules in found] == [
        ("rules", "admission rule", 2),
        ("before", "rule", 1),
        ("rules", "rule", 2),
    ]


def test_a_wrong_node_is_noted_once_and_not_entered() -> None:
    assert kinds(with_step("tool: { kind: noop, spec: { policy: { rules: 5 } } }\nnext: 7")) == [
        "WrongType",
        "WrongType",
    ]


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ("spec: { timeout: true }", "WrongType"),
        ("spec: { timeout: [1] }", "WrongType"),
        ("spec: { timeout: 0 }", "OutOfRange"),
        ("spec: { timeout: .nan }", "OutOfRange"),
        ("spec: { timeout: 1e16 }", "OutOfRange"),
        ("spec: { limits: { task_runs_max: 1e300 } }", "OutOfRange"),
        ("spec: { timeout: '{{ ctx.t }}' }", "WrongType"),
        ("spec: { join: 5 }", "NotAllowed"),
        ("spec: { result: { select: 5 } }", "WrongType"),
        ("spec: { limits: { task_runs_max: 1.5 } }", "WrongType"),
        ("spec: { limits: { task_runs_max: .inf } }", "WrongType"),
        ("spec: { tracing: 5 }", "InertWord"),
        ("spec: { next_mode: exclusive }", "OldWord"),
        ("spec: { policy: [] }", "OldWord"),
        ("spec: { nothing: 1 }", "UnknownKey"),
        ("loop: { in: [], iterator: a, spec: { max_in_flight: 'x {{ ctx.n }}' } }", "WrongType"),
        ("loop: { in: [], iterator: a, spec: { max_in_flight: '{{ ctx.n }} x' } }", "WrongType"),
        ("loop: { in: [], iterator: 5 }", "WrongType"),
        ("loop: { in: [], iterator: a-b }", "BadName"),
        ("loop: { in: [] }", "MissingKey"),
        ("next: { arcs: [ { step: load, when: plain } ] }", "BadGuard"),
        ("next: { arcs: [ { step: load, when: } ] }", "BadGuard"),
        ("next: { arcs: [ { step: load, when: [1] } ] }", "BadGuard"),
        ("tool: { kind: nothing, anything: 1 }", "UnknownKind"),
        ("tool: { kind: [] }", "WrongType"),
        ("tool: { kind: noop }\nx-own: 1\nnext: { x-own: 1, arcs: [] }", None),
    ],
)  # fmt: skip
def test_what_parts_from_the_grammar_is_noted(step: str, expected: str | None) -> None:
    assert kinds(with_step(step)) == ([expected] if expected else [])


def test_an_empty_workflow_is_too_short_and_a_keychain_kind_has_to_exist() -> None:
    found = findings(whole("workflow: []\nkeychain: [ { name: a, kind: b, free: 1 }, { name: c, kind: 5 } ]\n"))
    assert [type(finding) for finding in found] == [
        structure.TooFew,
        structure.UnknownKeychainKind,
        structure.WrongType,
    ]


def test_a_table_is_a_mapping() -> None:
    text = with_tool("{ kind: noop }").replace("path: demo", "path: demo, labels: 5")
    assert kinds(text) == ["WrongType"]


def test_the_keys_of_a_workbook_are_names() -> None:
    body = "workflow: [ { step: a, tool: { kind: noop } } ]\nworkbook: { my-block: { tool: { kind: noop } }, ok: 5 }\n"
    assert [type(finding) for finding in findings(whole(body))] == [structure.BadName, structure.WrongType]


def test_a_labelled_task_is_an_older_form_and_its_label_a_name() -> None:
    assert kinds(with_tool("- get: { kind: noop }")) == ["OldWord"]
    assert kinds(with_tool("- get-it: { kind: noop }")) == ["OldWord", "BadName"]


def test_sugar_is_checked_against_its_own_shape() -> None:
    assert kinds(with_tool("- { name: a, choose: [ { when: true, tool: [] } ] }")) == []
    assert kinds(with_tool("- { choose: [], wile: 1 }")) == ["TooFew", "UnknownKey", "MissingKey"]


def items(text: str) -> list[Mapping]:
    tool = document(text).root.get("workflow")
    assert isinstance(tool, Sequence)
    first = tool.items[0]
    assert isinstance(first, Mapping)
    listed = first.get("tool")
    assert isinstance(listed, Sequence)
    return [item for item in listed.items if isinstance(item, Mapping)]


def test_a_label_is_the_one_key_of_an_item_that_no_task_has() -> None:
    found = [
        labelled(item) is not None
        for item in items(with_tool("- get: { kind: noop }\n- set: { ctx.a: 1 }\n- get: 5\n- { a: {}, b: {} }"))
    ]
    assert found == [True, False, False, False]


def test_sugar_is_told_by_its_word_and_by_having_no_kind() -> None:
    text = with_tool("- { name: a, while: {} }\n- { kind: noop, while: {} }\n- { kind: noop }")
    assert [sugar_word(item) for item in items(text)] == ["while", None, None]


@pytest.mark.parametrize(
    ("text", "expected"), [("a_1", True), ("_", True), ("1a", False), ("", False), ("é", False), ("a b", False)]
)
def test_a_name_is_letters_digits_and_underscores(text: str, expected: bool) -> None:
    assert is_name(text) is expected
