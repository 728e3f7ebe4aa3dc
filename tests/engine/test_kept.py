"""Whose data is stored whatever its size: where the text reads its `.ref`."""

import pytest

from noetl.engine.kept import Kept, kept_outputs, names_read, workload_read
from noetl.engine.program import Program
from noetl.playbook.compile import compile_playbook
from tests.engine.playbooks import HEAD

TEXT = f"""{HEAD}
workflow:
  - step: one
    tool:
      - name: a
        kind: python
        code: x
        set: {{ ctx.n: "{{{{ A }}}}" }}
        spec: {{ policy: {{ rules: [ {{ when: "{{{{ R }}}}", then: {{ do: continue }} }} ], BEFORE }} }}
      - {{ name: b, kind: workbook, task: block, input: {{ x: "{{{{ B }}}}" }} }}
    set: {{ ctx.m: "{{{{ S }}}}" }}
    next: {{ arcs: [ {{ step: two, when: "{{{{ W }}}}" }} ] }}
  - step: two
    input: {{ y: "{{{{ I }}}}" }}
    tool: {{ kind: python, code: x }}
workbook:
  block:
    tool:
      - {{ name: c, kind: python, code: x, set: {{ ctx.k: "{{{{ C }}}}" }} }}
      - {{ name: again, kind: workbook, task: block }}
      - {{ name: deeper, kind: workbook, task: deep }}
  deep:
    tool: {{ name: d, kind: python, code: x }}
"""

ONE, TWO, BLOCK = "workflow/one", "workflow/two", "workbook/block"
INSIDE = {(BLOCK, "c"), (BLOCK, "again"), (BLOCK, "deeper"), ("workbook/deep", "d")}


def kept(before: str = "", **reads: str) -> Kept:
    return _kept(TEXT, before, **reads)


def _kept(text: str, before: str = "", **reads: str) -> Kept:
    text = text.replace(", BEFORE", before)
    for place in "ARBSWIC":
        text = text.replace(f"{{{{ {place} }}}}", f"{{{{ {reads.get(place, 'ctx.x')} }}}}")
    playbook = compile_playbook(text, "playbook.yaml").playbook
    assert playbook is not None
    return kept_outputs(playbook)


def test_nothing_is_kept_where_nothing_reads_a_reference() -> None:
    assert kept() == Kept(frozenset(), frozenset())


@pytest.mark.parametrize(
    ("place", "read", "tasks"),
    [
        ("A", "output.ref.type", {(ONE, "a")}),
        ("R", "output.ref.meta.bytes > 1", {(ONE, "a")}),
        ("B", "a.ref", {(ONE, "a")}),
        ("C", "output.ref.type", {(BLOCK, "c")}),
        ("A", "output.data", set()),
        ("A", "output", set()),
    ],
)
def test_a_task_whose_reference_is_read_is_kept(place: str, read: str, tasks: set[tuple[str, str]]) -> None:
    assert kept(**{place: read}) == Kept(frozenset(tasks), frozenset())


@pytest.mark.parametrize(("place", "read"), [("S", "output.ref.type"), ("W", "output.ref"), ("I", "one.ref.type")])
def test_of_a_step_every_task_may_be_the_last_and_a_call_hands_on_its_block(place: str, read: str) -> None:
    found = kept(**{place: read})
    assert found.steps == {"one"}
    assert found.tasks == {(ONE, "a"), (ONE, "b"), *INSIDE}


def test_a_rule_before_reads_the_reference_of_whatever_came_before() -> None:
    before = ', before: [ { when: "{{ output.ref }}", then: { do: skip } } ]'
    assert kept(before) == Kept(frozenset({(ONE, "a"), (ONE, "b")}), frozenset())


def test_the_names_that_a_pipeline_reads_are_those_of_the_blocks_that_it_calls_too() -> None:
    text = TEXT.replace(", BEFORE", "").replace("{{ R }}", "{{ ctx.r }}").replace("{{ C }}", "{{ two.data }}")
    for place in "ABSWI":
        text = text.replace(f"{{{{ {place} }}}}", f"{{{{ workload.{place.lower()} }}}}")
    playbook = compile_playbook(text, "p.yaml").playbook
    assert playbook is not None
    assert names_read(playbook.workflow[0], playbook) == {"workload", "ctx", "two"}
    assert names_read(playbook.workflow[1], playbook) == {"workload"}
    program = Program(playbook)
    assert program.reads("two") == {"workload"}
    assert program.reads("one") is program.reads("one")


def test_what_all_tasks_inherit_is_read_by_each_pipeline() -> None:
    spec = "executor: { spec: { result: { select: { token: '{{ login.data }}' } } } }\n"
    steps = (
        "- { step: login, tool: { kind: noop }, next: { arcs: [{ step: s }] } }\n- { step: s, tool: { kind: noop } }\n"
    )
    playbook = compile_playbook(f"{HEAD}{spec}workflow:\n{steps}", "a.yaml").playbook
    assert playbook is not None
    assert names_read(playbook.workflow[1], playbook) == {"login"}


SELECTS = "{ result: { select: { kind: '{{ NAME.ref.type }}' } } }"
TWO_TASK = (TWO, "two_task")


@pytest.mark.parametrize(
    ("before", "spec", "tasks"),
    [
        ("workflow:\n", "executor: { spec: SPEC }\nworkflow:\n", {(ONE, "a"), (ONE, "b"), *INSIDE, TWO_TASK}),
        ("  - step: one\n", "  - step: one\n    spec: SPEC\n", {(ONE, "a"), (ONE, "b"), *INSIDE}),
        ("- step: two\n", "- step: two\n    loop: { in: [1], iterator: n, spec: SPEC }\n", {TWO_TASK}),
    ],
)
def test_what_tasks_inherit_may_read_the_reference_of_each(before: str, spec: str, tasks: set[tuple[str, str]]) -> None:
    text = TEXT.replace(before, spec.replace("SPEC", SELECTS.replace("NAME", "output")), 1)
    assert _kept(text) == Kept(frozenset(tasks), frozenset())


def test_what_all_tasks_inherit_may_read_the_reference_of_a_step() -> None:
    text = TEXT.replace("workflow:", f"executor: {{ spec: {SELECTS.replace('NAME', 'two')} }}\nworkflow:")
    assert _kept(text) == Kept(frozenset({TWO_TASK}), frozenset({"two"}))


def _workload_read(step: str, loop: str = "") -> frozenset[str] | None:
    text = (
        f"{HEAD}workflow:\n- step: s\n{loop}  tool: {{ kind: python, code: x, input: {{ a: '{{{{ {step} }}}}' }} }}\n"
    )
    playbook = compile_playbook(text, "a.yaml").playbook
    assert playbook is not None
    program = Program(playbook)
    first, again = program.workload_read("s"), program.workload_read("s")
    assert first is again
    assert first == workload_read(playbook.workflow[0], playbook)
    return first


def test_a_worker_is_given_only_the_keys_of_the_workload_that_its_pipeline_reads() -> None:
    assert _workload_read("workload.a.b + ctx.c") == frozenset({"workload", "a", "ctx"})
    assert _workload_read("iter.row", '  loop: { in: "{{ workload.rows }}", iterator: row }\n') == frozenset({"iter"})


@pytest.mark.parametrize("whole", ["workload", "workload | length", "workload[ctx.key]"])
def test_a_worker_is_given_the_whole_workload_where_a_template_may_read_any_of_it(whole: str) -> None:
    assert _workload_read(whole) is None
