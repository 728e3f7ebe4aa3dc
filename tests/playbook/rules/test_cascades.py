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
