import pytest

from noetl.playbook.compile import compile_playbook
from noetl.playbook.diagnostics import Severity
from tests.playbook.texts import said, whole, with_step, with_tool


def codes(text: str) -> list[str]:
    found = compile_playbook(text, "a.yaml").diagnostics
    return [diagnostic.code for diagnostic in found if diagnostic.severity is not Severity.INFO]


def test_a_misspelt_else_is_told_once() -> None:
    rule = "{ els: { then: { do: fail } } }"
    assert codes(with_tool(f"kind: noop\nspec: {{ policy: {{ rules: [ {rule} ] }} }}")) == ["NOE101"]


def test_a_workbook_of_a_wrong_form_is_told_once() -> None:
    text = "workbook: [ { name: b, tool: { kind: noop } } ]\n"
    text += "workflow: [ { step: a, tool: { kind: workbook, task: b } } ]\n"
    assert codes(whole(text)) == ["NOE103"]


def test_a_step_that_does_something_in_an_unknown_word_is_not_called_empty() -> None:
    assert codes(with_step("run: echo")) == ["NOE101"]


def test_a_name_in_other_letters_is_told_which_letters_there_are() -> None:
    (found,) = said(with_step("tool: { kind: noop, name: größe }"), "NOE105")
    assert found.hint == "the letters are those of ASCII: a to z and A to Z"


RULES = (
    "[ { when: \"{{ output.status == 'error' }}\", then: { do: jump, to: again } }, { else: { then: { do: skip } } } ]"
)


def with_tasks(*tasks: str) -> str:
    return with_step("tool:\n" + "".join(f"  - {task}\n" for task in tasks))


@pytest.mark.parametrize(
    ("mistake", "code"),
    [
        ("{ name: c, choose: [ { tool: { kind: noop } }, { else: { tool: { kind: noop } } } ] }", "NOE309"),
        ("{ name: c, choos: [ { when: true, tool: { kind: noop } } ] }", "NOE101"),
        ("{ nme: again, kind: noop }", "NOE101"),
        ("{ again: , kind: noop }", "NOE101"),
    ],
)
def test_a_mistake_in_a_task_is_told_once(mistake: str, code: str) -> None:
    reader = (
        f'{{ name: b, kind: noop, set: {{ ctx.x: "{{{{ again.data }}}}" }}, spec: {{ policy: {{ rules: {RULES} }} }} }}'
    )
    others = [reader] if "again" in mistake else []
    assert codes(with_tasks(mistake, *others)) == [code]


@pytest.mark.parametrize(
    "then",
    ["{ doo: retry }", "{ do: jump, too: load_task }", "{ do: jmp, to: load_task }", "{ do: retyr, attempts: 3 }"],
)
def test_a_misspelt_directive_is_told_once(then: str) -> None:
    rules = (
        f"[ {{ when: \"{{{{ output.status == 'error' }}}}\", then: {then} }}, {{ else: {{ then: {{ do: skip }} }} }} ]"
    )
    assert len(codes(with_tool(f"kind: noop\nspec: {{ policy: {{ rules: {rules} }} }}"))) == 1


def test_an_older_status_is_not_called_impossible_too() -> None:
    rules = "[ { when: \"{{ output.status == 'success' }}\", then: { do: skip } }, { else: { then: { do: fail } } } ]"
    assert codes(with_tool(f"kind: noop\nspec: {{ policy: {{ rules: {rules} }} }}")) == ["NOE711"]


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        ("{ mode: parallel, policy: { reduce: { x: summ } } }", "NOE104"),
        ("{ mode: parallel, policy: { redcue: { x: sum } } }", "NOE101"),
        ("{ mode: parallel, reduce: { x: sum } }", "NOE101"),
        ("{ mode: paralel, policy: { reduce: { x: sum } } }", "NOE104"),
        ("{ mod: parallel, policy: { reduce: { x: sum } } }", "NOE101"),
        ("{ policy: { mode: paralel, reduce: { x: sum } } }", "NOE104"),
    ],
)
def test_a_mistake_about_a_parallel_loop_is_told_once(spec: str, code: str) -> None:
    loop = f"loop: {{ in: [1], iterator: a, spec: {spec} }}\n"
    assert codes(with_step(f'{loop}tool: {{ kind: noop, set: {{ ctx.x: "{{{{ iter.a }}}}" }} }}')) == [code]


@pytest.mark.parametrize(
    "loop", ["lop: { in: [1], iterator: x }", "loop: { in: [1], iteratr: x }", "for_each: { in: [1], iterator: x }"]
)
def test_what_a_misspelt_loop_would_give_is_not_missed(loop: str) -> None:
    tool = 'tool: { kind: noop, set: { iter.y: "{{ iter.x }}", ctx.z: "{{ x }}" } }'
    assert codes(with_step(f"{loop}\n{tool}")) == ["NOE101"]


def test_what_a_misspelt_part_of_the_playbook_would_give_is_not_missed() -> None:
    reading = 'workflow: [ { step: b, tool: { kind: noop, set: { ctx.x: "{{ a }}" } } } ]\n'
    assert codes(whole(f"worklod: {{ a: 1 }}\n{reading}")) == ["NOE101"]
    calling = "workflow: [ { step: b, tool: { kind: workbook, task: blk } } ]\n"
    assert codes(whole(f"workbok: {{ blk: {{ tool: {{ kind: noop }} }} }}\n{calling}")) == ["NOE101"]
    first = "{ stp: fetch, tool: { kind: noop }, next: { arcs: [ { step: b } ] } }"
    second = '{ step: b, tool: { kind: noop }, set: { ctx.x: "{{ fetch.data }}" } }'
    assert codes(whole(f"workflow: [ {first}, {second} ]\n")) == ["NOE101"]


def test_a_template_that_stands_in_a_wrong_place_is_not_told_that_it_stays_text() -> None:
    assert codes(with_tool('kind: noop\nspec: { timeout: "{{ workload.t }}" }')) == ["NOE103"]
    assert codes(with_tool('kind: noop\nspec: { pol: { rules: [ { when: "{{ ctx.x }}" } ] } }')) == ["NOE101"]
    assert codes(with_tool('kind: noop\nspec: { result: { store: { a: "{{ ctx.x }}" } } }')) == ["NOE510"]
