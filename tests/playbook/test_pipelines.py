import pytest

from noetl.playbook.model import (
    Backoff,
    Directive,
    Loop,
    LoopMode,
    OnUnmatched,
    Placement,
    Policy,
    Reducer,
    Rule,
    Task,
    Then,
)
from tests.playbook.texts import document, step, tasks, with_step, with_tool

GET = Task("get", "http", fields={"url": "https://example.com", "method": "POST"})


@pytest.mark.parametrize(
    "tool",
    [
        '{ name: get, kind: http, url: "https://example.com", method: POST }',
        '{ name: get, kind: http, input: { url: "https://example.com", method: POST } }',
        '{ name: get, kind: http, args: { url: "https://example.com" }, method: POST }',
        '- { name: get, kind: http, url: "https://example.com", input: { method: POST } }',
        '- get: { kind: http, url: "https://example.com", method: POST }',
        '- get:\n    kind: http\n    args: { url: "https://example.com", method: POST }',
    ],
)
def test_every_accepted_form_of_a_task_becomes_the_same_task(tool: str) -> None:
    assert tasks(with_tool(tool)) == (GET,)


def test_tasks_without_names_are_named_by_step_or_position() -> None:
    assert [task.name for task in tasks(with_tool("{ kind: noop }"))] == ["load_task"]
    listed = with_tool("- { kind: noop }\n- { name: own, kind: noop }\n- { kind: noop }")
    assert [task.name for task in tasks(listed)] == ["task_0", "own", "task_2"]


def test_what_a_callee_receives_stays_apart_from_its_body() -> None:
    (task,) = tasks(with_tool('{ kind: python, code: "result = a", input: { a: 1, code: 2 } }'))
    assert (task.fields, task.input) == ({"code": "result = a"}, {"a": 1, "code": 2})


def test_a_second_name_of_a_field_becomes_the_first() -> None:
    (task,) = tasks(with_tool("{ kind: duckdb, query: select 1 }"))
    assert task.fields == {"command": "select 1"}


def test_values_of_the_authors_own_stay_input_and_a_secret_has_a_name_of_its_own() -> None:
    found = with_tool('{ name: get, kind: secrets, input: { name: token, page: 1, note: "{{ input.page }}" } }')
    (task,) = document(found).playbook.workflow[0].tool
    assert (task.name, task.fields, task.input) == ("get", {"name": "token"}, {"page": 1, "note": "{{ input.page }}"})


def test_the_fields_of_an_unknown_kind_and_broken_items_do_not_stop_the_reading() -> None:
    text = with_tool("- { name: a, kind: nothing, url: 1, auth: [1], input: { b: 2 } }\n- 5\n- { name: c }")
    assert [(task.name, task.kind, task.input) for task in document(text).playbook.workflow[0].tool] == [
        ("a", "nothing", {"b": 2}),
        ("c", "", {}),
    ]
    assert document(with_step("tool: 5")).playbook.workflow[0].tool == ()


def test_a_policy_holds_its_rules_in_the_order_they_are_tried() -> None:
    (task,) = tasks(
        with_tool(
            """
            kind: noop
            spec:
              timeout: 5
              x-own: 1
              policy:
                on_unmatched: fail
                before: [ { when: "{{ ctx.skip }}", then: { do: skip } } ]
                rules:
                  - else: { then: { do: jump, to: load_task } }
                  - when: true
                    then: { do: retry, attempts: 2, backoff: linear, delay: 3, max_delay: 4, jitter: 0.5 }
            """
        )
    )
    retry = Then(Directive.RETRY, attempts=2, backoff=Backoff.LINEAR, delay=3.0, max_delay=4.0, jitter=0.5)
    assert task.spec == {"timeout": 5}
    assert task.policy == Policy(
        rules=(Rule(True, retry), Rule(None, Then(Directive.JUMP, to="load_task"), is_else=True)),
        before=(Rule("{{ ctx.skip }}", Then(Directive.SKIP)),),
        on_unmatched=OnUnmatched.FAIL,
    )


def test_rules_that_cannot_be_tried_are_left_out_but_what_they_say_is_still_checked() -> None:
    text = with_tool(
        """
        kind: noop
        spec:
          policy:
            rules:
              - { when: true }
              - { then: { do: fail } }
              - { when: true, then: { do: nothing, set: { ctx.a: "{{ nowhere }}" } } }
              - { else: { then: { do: break } } }
              - { else: { then: { do: fail } } }
              - 5
        """
    )
    found = document(text)
    policy = found.playbook.workflow[0].tool[0].policy
    assert policy is not None
    assert policy.rules == (Rule(None, Then(Directive.BREAK), is_else=True),)
    assert [use.template.text for use in found.notes.templates] == ["{{ nowhere }}"]


def test_a_loop_has_levels_with_settings_of_their_own() -> None:
    text = with_step(
        """
        loop:
          in: "{{ workload.cities }}"
          iterator: city
          spec: { mode: parallel, max_in_flight: 20, timeout: 5, policy: { exec: distributed, reduce: { total: sum } } }
          loop:
            in: "{{ iter.city.hotels }}"
            iterator: hotel
            spec: { policy: { mode: parallel, max_in_flight: "{{ ctx.n }}" } }
        tool: { kind: noop }
        """
    )
    outer = step(text).loop
    assert outer == Loop(
        in_="{{ workload.cities }}",
        iterator="city",
        mode=LoopMode.PARALLEL,
        max_in_flight=20,
        placement=Placement.DISTRIBUTED,
        reduce={"total": Reducer.SUM},
        spec={"timeout": 5},
        loop=Loop("{{ iter.city.hotels }}", "hotel", mode=LoopMode.PARALLEL, max_in_flight="{{ ctx.n }}"),
    )
    assert [level.iterator for level in outer.levels()] == ["city", "hotel"]


def test_a_broken_loop_is_a_loop_all_the_same() -> None:
    def iterators(loop: str) -> tuple[str, ...]:
        found = document(with_step(f"loop: {loop}\ntool: {{ kind: http, url: '{{{{ iter.a }}}}' }}"))
        return found.notes.templates[-1].place.iterators

    assert iterators("{ in: [1], iterator: a }") == ("a",)
    assert iterators("{ in: [1] }") == ("",)
    assert iterators("{ iterator: a, loop: 5 }") == ("a", "")
    assert iterators("5") == ("",)


def test_only_what_a_result_selects_is_a_template_among_the_knobs() -> None:
    text = with_tool('{ kind: noop, spec: { result: { select: { a: "{{ output.data.a }}" }, ttl: 1h }, pool: big } }')
    (task,) = tasks(text)
    assert task.spec == {"result": {"select": {"a": "{{ output.data.a }}"}, "ttl": "1h"}, "pool": "big"}
    assert [use.template.text for use in document(text).notes.templates] == ["{{ output.data.a }}"]


def test_reducers_that_do_not_exist_are_left_out() -> None:
    text = with_step("loop: { in: [], iterator: a, spec: { policy: { reduce: { x: most, y: [1] } } } }")
    loop = document(text).playbook.workflow[0].loop
    assert loop is not None
    assert loop.reduce == {}
