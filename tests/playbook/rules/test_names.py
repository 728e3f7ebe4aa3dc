import pytest

from noetl.playbook.diagnostics import Diagnostic
from noetl.playbook.source.edits import apply_edits
from tests.playbook.texts import errors, said, whole, with_tool

LOOPS = """
workload:
  message: hello
workflow:
  - step: load
    loop: {{ in: [[1]], iterator: row, loop: {{ in: "{{{{ iter.row }}}}", iterator: cell }} }}
    tool:
      kind: noop
      set:
        iter.x: {value}
"""


def bare(value: str) -> tuple[str, list[Diagnostic]]:
    text = whole(LOOPS.format(value=value))
    return text, said(text, "NOE504")


@pytest.mark.parametrize(
    ("value", "fixed"),
    [
        ('"{{ message }} and {{ message | upper }}"', '"{{ workload.message }} and {{ workload.message | upper }}"'),
        ("'it''s {{ cell }}'", "'it''s {{ iter.cell }}'"),
        ('"\\u00e9 {{ row.id }}"', '"\\u00e9 {{ iter.parent.row.id }}"'),
        ("say {{ message }}", "say {{ workload.message }}"),
        (">-\n          folded\n          {{ cell }}", ">-\n          folded\n          {{ iter.cell }}"),
    ],
)
def test_a_bare_name_gets_its_scope_however_the_text_is_quoted(value: str, fixed: str) -> None:
    text, (found,) = bare(value)
    assert apply_edits(text, found.fix).text == whole(LOOPS.format(value=fixed))


def test_a_bare_name_in_an_unquoted_text_of_several_lines_is_told_but_not_rewritten() -> None:
    _, (found,) = bare("one\n          {{ message }}")
    assert found.fix == ()


def test_the_innermost_of_iterators_with_one_name_is_meant() -> None:
    text = whole(LOOPS.format(value='"{{ row }}"').replace("iterator: cell", "iterator: row"))
    (found,) = said(text, "NOE504")
    assert found.message.endswith("write `iter.row`")


def test_a_task_hides_a_step_a_step_hides_an_iterator_and_an_iterator_hides_a_workload_key() -> None:
    text = """
    workload: { row: 1, load: 1, get: 1 }
    workflow:
      - step: load
        loop: { in: [1], iterator: %s }
        tool:
          - name: get
            kind: noop
            set: { iter.x: "{{ %s }}" }
    """
    assert [said(whole(text % ("row", "get.data")), code) for code in ("NOE504", "NOE508")] == [[], []]
    assert len(said(whole(text % ("row", "load.data")), "NOE508")) == 1
    (found,) = said(whole(text % ("row", "row")), "NOE504")
    assert "iterator" in found.message


def test_the_older_words_are_scopes_and_left_to_their_own_rules() -> None:
    text = with_tool(
        """
        kind: noop
        set: { ctx.x: "{{ outcome.status }} {{ args.y }}" }
        """
    )
    assert [said(text, code) for code in ("NOE502", "NOE503", "NOE504")] == [[], [], []]


def test_the_test_of_an_until_sees_the_output_of_the_last_task() -> None:
    text = with_tool(
        """
        - name: poll
          until:
            when: "{{ output.data.done }}"
            tool: { kind: noop }
        """
    )
    assert errors(text) == []


def test_a_step_without_a_name_still_has_its_templates_checked() -> None:
    text = "workflow:\n  - tool:\n      - { name: get, kind: noop, set: { ctx.x: '{{ get.data }} {{ gett.data }}' } }\n"
    (found,) = said(whole(text), "NOE502")
    assert "did you mean `get`?" in found.message
