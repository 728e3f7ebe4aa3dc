import pytest

from noetl.playbook.model import (
    Admit,
    AdmitRule,
    Arc,
    Dialect,
    Executor,
    FailureMode,
    Join,
    KeychainEntry,
    Metadata,
    OnDeny,
    Placement,
    RouteMode,
    Router,
)
from tests.playbook.texts import HEAD, document, errors, model, step, whole, with_step, with_tool

NOOP = "workflow: [ { step: first, tool: { kind: noop } }, { step: second, tool: { kind: noop } } ]\n"


def test_the_head_is_read_as_it_was_written() -> None:
    text = (
        "apiVersion: noetl.io/v2\nkind: Playbook\n"
        "metadata:\n  { name: demo, path: a/b, version: 1.10, description: d,\n"
        "    tags: [x, 2], labels: { team: 7, odd: [1] } }\n"
    )
    found = document(text + NOOP).playbook
    assert found.metadata == Metadata("demo", "a/b", "1.10", "d", ("x", "2"), {"team": "7"})
    assert document(f"kind: Playbook\n{NOOP}").playbook.metadata == Metadata("", "")


def test_the_entry_is_the_first_step_unless_another_is_named() -> None:
    assert model(HEAD + NOOP).entry_step == "first"
    assert model(f"{HEAD}executor: {{ spec: {{ entry_step: second }} }}\n{NOOP}").entry_step == "second"
    assert document(f"{HEAD}workflow: []\n").playbook.entry_step == ""


def test_the_executor_takes_its_aliases() -> None:
    body = (
        "executor: { kind: local, version: 2, requires: [a], spec: { policy: { limits: { max_payload_bytes: 9 } } } }\n"
    )
    assert model(HEAD + body + NOOP).executor == Executor(
        Placement.LOCAL, "2", ["a"], {"result": {"inline_max_bytes": 9}}
    )


def test_the_limits_of_the_executor_may_stand_under_its_policy() -> None:
    spec = "{ policy: { limits: { ctx_bytes_max: 9, task_runs_max: 8 } }, limits: { task_runs_max: 7 } }"
    assert model(f"{HEAD}executor: {{ spec: {spec} }}\n{NOOP}").executor.spec == {
        "limits": {"ctx_bytes_max": 9, "task_runs_max": 7}
    }


def test_the_real_knob_wins_over_its_alias() -> None:
    spec = "{ policy: { limits: { max_payload_bytes: 9 } }, result: %s }"
    result = spec % "{ inline_max_bytes: 5, ttl: 1h }"
    assert model(f"{HEAD}executor: {{ spec: {result} }}\n{NOOP}").executor.spec == {
        "result": {"inline_max_bytes": 5, "ttl": "1h"}
    }
    broken = spec % "5"
    assert document(f"{HEAD}executor: {{ spec: {broken} }}\n{NOOP}").playbook.executor.spec == {
        "result": {"inline_max_bytes": 9}
    }


def test_keychain_entries_hold_what_their_kind_needs() -> None:
    body = "keychain: [ { name: token, kind: env, var: TOKEN }, { kind: env, var: X }, { name: odd } ]\n"
    assert document(HEAD + body + NOOP).playbook.keychain == (
        KeychainEntry("token", "env", {"var": "TOKEN"}),
        KeychainEntry("odd", ""),
    )


def test_a_step_holds_all_its_parts() -> None:
    found = step(
        with_step(
            """
            desc: d
            spec:
              join: all
              timeout: 5
              policy:
                admit:
                  on_deny: wait
                  rules:
                    - { else: { then: { allow: false } } }
                    - { when: "{{ ctx.a }}", then: { allow: true } }
                failure: { mode: best_effort }
                lifecycle: { timeout_s: 1, deadline_s: 2 }
            args: { a: 1, b: 2 }
            input: { b: 3 }
            tool: { kind: noop }
            set: { ctx.x: 1 }
            next:
              spec: { mode: inclusive }
              arcs:
                - { step: load, when: false, set: { ctx.y: 2 }, args: { z: 3 } }
            """
        )
    )
    assert found.admit == Admit((AdmitRule("{{ ctx.a }}", True), AdmitRule(None, False, is_else=True)), OnDeny.WAIT)
    assert (found.desc, found.join, found.failure) == ("d", Join.ALL, FailureMode.BEST_EFFORT)
    assert (found.timeout_s, found.deadline_s, found.spec) == (1.0, 2.0, {"timeout": 5})
    assert (found.input, found.set) == ({"a": 1, "b": 3}, {"ctx.x": 1})
    assert found.next == Router(RouteMode.INCLUSIVE, (Arc("load", False, {"ctx.y": 2}, {"z": 3}),))


def test_what_is_broken_is_left_out_and_the_rest_is_read() -> None:
    text = whole(
        """
        workflow:
          - 5
          - { tool: { kind: http, url: "{{ nowhere }}" } }
          - step: load
            spec: { policy: { admit: { rules: [ 5, { when: true }, { when: true, then: { allow: 5 } } ] } } }
            tool: { kind: noop }
            next: { arcs: [ 5, { when: "{{ nothing }}" }, { step: load } ] }
        workbook: { a: 5, b: { desc: d, input: { x: 1 }, tool: { kind: noop } } }
        """
    )
    found = document(text)
    (only,) = found.playbook.workflow
    assert only.admit == Admit()
    assert only.next.arcs == (Arc("load"),)
    assert list(found.playbook.workbook) == ["b"]
    assert found.playbook.workbook["b"].input == {"x": 1}
    assert [(use.template.text, use.place.frame.title) for use in found.notes.templates] == [
        ("{{ nowhere }}", "the step without a name"),
        ("{{ nothing }}", 'step "load"'),
    ]


def test_a_broken_step_does_not_hide_the_problems_of_the_next() -> None:
    text = whole(
        """
        workflow:
          - { step: a, tool: 5, next: { arcs: [ { step: nowhere } ] } }
          - { step: b, tool: { kind: htp }, next: { arcs: [ { step: nothing } ] } }
        """
    )
    assert errors(text) == ["NOE103", "NOE203", "NOE110", "NOE203"]


@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        (with_tool("{ kind: noop }"), Dialect.CANONICAL),
        (with_tool("{ kind: noop }").replace("noetl.io/v2", "noetl.io/v10"), Dialect.V10),
        (with_tool("- get: { kind: noop }"), Dialect.V10),
        (with_step("args: { a: 1 }\ntool: { kind: noop }"), Dialect.V10),
        (with_step("tool: { kind: noop }\nset: { ctx.a: '{{ outcome.status }}' }"), Dialect.V10),
        (with_step("tool: { kind: noop }\nset: { ctx.a: '{{ output.status }}' }"), Dialect.CANONICAL),
    ],
)
def test_a_document_that_uses_any_v10_word_is_a_v10_document(text: str, dialect: Dialect) -> None:
    assert model(text).dialect is dialect
