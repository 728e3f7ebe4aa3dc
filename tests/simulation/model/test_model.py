"""The model and the engine agree on what playbooks come to, wherever the model is sure."""

from collections import Counter

import pytest

from noetl.playbook.model import Directive
from tests.engine.laws.cases import Case
from tests.engine.laws.judging import ran
from tests.engine.laws.world import NO_TROUBLE
from tests.simulation.model.__main__ import agrees
from tests.simulation.model.check import differences, expected
from tests.simulation.model.values import UNSURE, FromLog

CASES = 200
GROUPS = 8
HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: a, path: a}\n"


@pytest.mark.parametrize("group", range(GROUPS))
def test_the_engine_comes_to_what_the_model_expects(group: int) -> None:
    seen: Counter[str] = Counter()
    size = CASES // GROUPS
    assert [number for number in range(group * size, (group + 1) * size) if not agrees(number, seen, orders=1)] == []
    assert seen["runs that are certain"] > 0


def test_a_straight_playbook_is_certain_in_every_part() -> None:
    text = (
        HEAD + "workflow:\n- {step: a, tool: {name: t, kind: noop, set: {ctx.x: 1}}, next: {arcs: [{step: b}]}}\n"
        "- {step: b, tool: {kind: noop}}\n"
    )
    found = expected(Case(text, (), 1))
    assert found.is_certain
    assert (found.status, found.ctx) == ("completed", {"x": 1})
    assert {name: run.boundary for name, run in found.runs.items()} == {"a#1": "step.done", "b#1": "step.done"}
    assert found.tasks["a#1.t/1"].directive == Directive.CONTINUE


def test_branches_that_write_the_same_key_leave_it_unsure_and_nothing_else() -> None:
    text = HEAD + (
        "workflow:\n- {step: a, next: {spec: {mode: inclusive}, arcs: [{step: b}, {step: c}]}}\n"
        "- {step: b, tool: {kind: noop, set: {ctx.x: 1, ctx.y: 1}}}\n- {step: c, tool: {kind: noop, set: {ctx.x: 2}}}\n"
    )
    found = expected(Case(text, (), 1))
    assert found.status == "completed"
    assert found.ctx == {"x": UNSURE, "y": 1}
    assert not found.is_certain


def test_a_guard_that_reads_what_another_branch_writes_is_no_certainty() -> None:
    text = HEAD + (
        "workflow:\n- {step: a, next: {spec: {mode: inclusive}, arcs: [{step: b}, {step: c}]}}\n"
        "- {step: b, tool: {kind: noop, set: {ctx.x: 1}}}\n"
        '- {step: c, tool: {kind: noop}, next: {arcs: [{step: d, when: "{{ ctx.x == 1 }}"}]}}\n'
        "- {step: d, tool: {kind: noop}}\n"
    )
    found = expected(Case(text, (), 1))
    assert found.status is UNSURE
    assert found.doubts


STORED = HEAD + (
    "workflow:\n- step: many\n  loop: {in: [1, 2], iterator: x}\n"
    '  tool: {name: t, kind: python, code: x, set: {step.own_ref: "{{ output.ref }}"}}\n'
    '  set: {ctx.whole: "{{ output.data }}"}\n'
    "  next: {arcs: [{step: reads}]}\n"
    "- step: reads\n"
    '  tool: {kind: noop, set: {ctx.n: "{{ many.data | length }}", ctx.all: "{{ ctx.whole }}"}}\n'
    "  next: {arcs: [{step: over}]}\n"
    '- step: over\n  loop: {in: "{{ ctx.whole }}", iterator: each}\n'
    '  tool: {name: u, kind: noop, set: {iter.got_ref: "{{ iter.each }}"}}\n'
    '  next: {arcs: [{step: reads, when: "{{ many.data | length > 5 }}"}]}\n'
)


def test_the_data_of_a_loop_whose_tools_store_it_is_known_to_workers_and_not_read_by_servers() -> None:
    """Of the seeds, the first with which no tool fails."""
    case = next(each for each in (Case(STORED, (), seed) for seed in range(20)) if len(expected(each).runs) == 3)
    found = expected(case)
    assert found.is_certain
    assert isinstance(found.ctx, dict)
    assert isinstance(found.ctx["whole"], FromLog)
    assert found.ctx["n"] == 2
    assert found.ctx["all"] == found.ctx["whole"].items
    assert (found.status, found.error_kinds) == ("failed", frozenset({"data_by_reference"}))
    assert list(differences(ran(case, NO_TROUBLE, 0), found)) == []


@pytest.mark.parametrize("looped", ["", "loop: {in: [1], iterator: x}, "])
def test_blocks_that_call_each_other_in_a_circle_end_where_the_model_says(looped: str) -> None:
    rules = "{policy: {rules: [{else: {then: {do: continue}}}]}}"
    text = HEAD + (
        f"workbook:\n  a: {{{looped}tool: {{name: t, kind: workbook, task: b}}}}\n"
        "  b: {tool: {name: t, kind: workbook, task: a}}\n"
        f"workflow:\n- {{step: s, tool: {{name: t, kind: workbook, task: a, spec: {rules}, set: {{ctx.x: 1}}}}}}\n"
    )
    case = Case(text, (), 1)
    found = expected(case)
    assert found.is_certain
    assert (found.status, len(found.tasks)) == ("completed", 33)
    assert list(differences(ran(case, NO_TROUBLE, 0), found)) == []
