"""The engine goes ahead with known values, as far as it gets without a tool."""

from collections.abc import Mapping

import pytest

from noetl.cli.running.beginning import Beginning, beginning
from noetl.engine.binding import Places
from noetl.engine.program import Program
from noetl.playbook.compile import compile_playbook
from tests.engine.driver import Driver
from tests.engine.laws.cases import case

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: { name: flow, path: shop/flow }\n"
TASK = '{ name: t, kind: python, code: "result = 1", input: { x: "{{ workload.x }}" }'
RULES = "spec: { policy: { rules: [ { when: \"{{ output.status == 'error' }}\", then: { do: %s } } ] } }"
ELSE = "{ else: { then: { do: continue } } }"
TO_END = "  - step: z\n    tool: [ { name: noop, kind: noop } ]\n"


def begun(body: str, workload: Mapping[str, object] | None = None) -> Beginning:
    compilation = compile_playbook(f"{HEAD}{body}", "flow.yaml")
    assert compilation.playbook is not None, [found.message for found in compilation.diagnostics]
    program = Program(compilation.playbook, Places("flow.yaml", compilation.source_map()))
    return beginning(program, workload or {})


def one_step(*lines: str, after: str = "") -> str:
    return "workflow:\n  - step: a\n" + "".join(f"    {line}\n" for line in lines) + after


def message(found: Beginning) -> str:
    return found.error.message if found.error is not None else ""


def test_the_first_task_sees_what_is_known_and_its_fields_see_its_own_input() -> None:
    found = begun(one_step("input: { n: 2 }", f"tool: [ {TASK} }} ]"), {"x": 1})
    first = found.tasks["workflow/a/tool/t"]
    assert first.scope("workflow/a/tool/t/input/x")["input"] == {"n": 2}
    assert first.scope("workflow/a/tool/t/args/0")["input"] == {"n": 2, "x": 1}
    assert found.error is None


def test_fields_do_not_see_an_input_that_cannot_be_bound() -> None:
    found = begun(one_step("input: { n: 2 }", f"tool: [ {TASK} }} ]"))
    assert "input" not in found.tasks["workflow/a/tool/t"].scope("workflow/a/tool/t/args/0")


def test_only_the_first_task_of_a_step_is_reached() -> None:
    found = begun(
        one_step(f"tool: [ {TASK} }}, {{ name: u, kind: noop }} ]", "next: { arcs: [ { step: z } ] }", after=TO_END)
    )
    assert list(found.tasks) == ["workflow/a/tool/t"]


def test_a_task_in_a_loop_sees_the_first_item() -> None:
    found = begun(one_step("loop: { in: [ 7, 8 ], iterator: i }", f"tool: [ {TASK} }} ]"))
    first = found.tasks["workflow/a/tool/t"]
    assert first.outer["i"] == 7
    assert first.outer["iter"] == {"i": 7, "index": 0, "count": 2}
    assert first.is_fatal


def test_a_task_in_a_loop_in_a_loop_sees_the_first_item_of_both() -> None:
    loops = 'loop: { in: [ [ 7 ] ], iterator: i, loop: { in: "{{ iter.i }}", iterator: j } }'
    assert begun(one_step(loops, f"tool: [ {TASK} }} ]")).tasks["workflow/a/tool/t"].outer["j"] == 7


def test_a_loop_over_nothing_reaches_no_task_and_goes_on() -> None:
    for inner in ("", ", loop: { in: [ 1 ], iterator: j }"):
        loop = f"loop: {{ in: [], iterator: i{inner} }}"
        found = begun(one_step(loop, f"tool: [ {TASK} }} ]", "next: { arcs: [ { step: z } ] }", after=TO_END))
        assert list(found.tasks) == ["workflow/z/tool/noop"]
    nested = 'loop: { in: [ [] ], iterator: i, loop: { in: "{{ iter.i }}", iterator: j } }'
    assert begun(one_step(nested, f"tool: [ {TASK} }} ]")).tasks == {}


def test_the_failure_of_a_task_is_fatal_unless_something_takes_it() -> None:
    def is_fatal(*lines: str, rules: str = "", after: str = "") -> bool:
        tool = f"tool: [ {TASK}{rules and ', ' + rules} }} ]"
        return begun(one_step(*lines, tool, after=after)).tasks["workflow/a/tool/t"].is_fatal

    loop = "loop: { in: [ 1, 2 ], iterator: i }"
    assert is_fatal()
    assert is_fatal(rules=RULES % "retry, attempts: 3")
    assert is_fatal(rules=RULES % "fail")
    assert not is_fatal(rules=RULES % "continue")
    assert is_fatal(loop)
    assert not is_fatal(loop, "spec: { policy: { failure: { mode: best_effort } } }")
    arcs = "next: { arcs: [ { step: z, when: \"{{ event.name == 'step.failed' }}\" } ] }"
    assert not is_fatal(arcs, after=TO_END)


def test_what_a_step_starts_with_is_an_error_at_its_place() -> None:
    tool = "tool: { kind: noop }"
    assert "`workload` has no key x" in message(begun(one_step('input: { n: "{{ workload.x }}" }', tool)))
    assert "must give a list" in message(begun(one_step('loop: { in: "{{ 3 }}", iterator: i }', tool)))
    loop = 'loop: { in: [ 1 ], iterator: i, spec: { mode: parallel, max_in_flight: "{{ workload.k }}" } }'
    assert "whole number of at least 1, not 0" in message(begun(one_step(loop, tool), {"k": 0}))
    nested = 'loop: { in: [ 1 ], iterator: i, loop: { in: "{{ workload.x }}", iterator: j } }'
    assert "`workload` has no key x" in message(begun(one_step(nested, tool)))


def test_a_step_that_is_not_admitted_runs_nothing() -> None:
    admit = 'spec: { policy: { admit: { rules: [ { when: "{{ workload.go }}", then: { allow: true } } ] } } }'
    body = one_step(admit, f"tool: [ {TASK} }} ]")
    assert begun(body) == Beginning(None, {})
    assert list(begun(body, {"go": True}).tasks) == ["workflow/a/tool/t"]
    assert "workflow/a/admit/0/when" in str(begun(body.replace("workload.go", "workload.go + 1")).error)


def test_steps_without_a_task_are_passed_with_their_writes_and_arcs() -> None:
    first = one_step(
        'set: { ctx.n: "{{ workload.n + 1 }}" }', 'next: { arcs: [ { step: z, when: "{{ ctx.n > 1 }}" } ] }'
    )
    found = begun(first + TO_END, {"n": 1})
    assert found.tasks["workflow/z/tool/noop"].outer["ctx"] == {"n": 2}
    assert begun(first + TO_END, {"n": 0}) == Beginning(None, {})
    assert "workflow/a/set" in str(begun(first + TO_END, {"n": "two"}).error)


def test_a_task_of_a_block_is_reached_through_its_call() -> None:
    block = (
        'workbook: { b: { tool: [ { name: t, kind: python, code: "result = 1", input: { x: "{{ input.q }}" } } ] } }\n'
    )
    call = 'tool: { kind: workbook, task: b, input: { q: "{{ workload.q }}" } }'
    found = begun(block + one_step(call), {"q": 5})
    assert found.tasks["workbook/b/tool/t"].inner["input"] == {"q": 5, "x": 5}
    assert "`workload` has no key q" in message(begun(block + one_step(call)))


def test_a_rule_before_the_first_task_may_pass_it_by() -> None:
    before = ', spec: { policy: { before: [ { when: "{{ not workload.x }}", then: { do: %s } } ], rules: [ %s ] } } }'
    for directive, reached in (("skip", []), ("break", []), ("continue", ["workflow/a/tool/t"])):
        assert list(begun(one_step(f"tool: [ {TASK}{before % (directive, ELSE)} ]")).tasks) == reached
    assert "was told to fail" in message(begun(one_step(f"tool: [ {TASK}{before % ('fail', ELSE)} ]")))
    looped = one_step("loop: { in: [ 1 ], iterator: i }", f"tool: [ {TASK}{before % ('fail', ELSE)} ]")
    assert "was told to fail" in message(begun(looped))


@pytest.mark.parametrize("number", range(12))
def test_a_run_that_is_said_to_fail_fails_whatever_the_playbook(number: int) -> None:
    text = case(number).text
    compilation = compile_playbook(text, "playbook.yaml")
    assert compilation.playbook is not None
    found = beginning(Program(compilation.playbook, Places("playbook.yaml", compilation.source_map())), {})
    assert found.error is None or Driver(text).run(300).state.status == "failed"
