from noetl.playbook.compile import DIAGNOSTICS_MAX, compile_playbook
from noetl.playbook.diagnostics import Severity
from tests.playbook.texts import HEAD, check, errors, whole, with_step, with_tool


def test_a_sound_text_gives_a_playbook() -> None:
    found = check(with_tool("{ kind: noop }"))
    assert found.playbook is not None
    assert found.document is not None
    assert found.document.playbook is found.playbook


def test_a_text_with_an_error_gives_none_but_can_still_be_looked_at() -> None:
    found = check(with_tool("{ kind: nothing }"))
    assert found.playbook is None
    assert found.document is not None


def test_a_text_that_cannot_be_read_gives_its_reason_only() -> None:
    found = compile_playbook(b"workflow: [", "test.yaml")
    assert (found.playbook, found.document, found.source_map()) == (None, None, {})
    assert [diagnostic.code for diagnostic in found.diagnostics] == ["NOE002"]


def test_problems_of_the_source_and_of_the_playbook_are_told_together() -> None:
    assert errors(with_step("tool: { kind: noop, kind: noop }\nnext: 5")) == ["NOE003", "NOE103"]


def test_only_the_source_is_fixed_while_it_has_problems() -> None:
    text = with_tool("{ kind: htp, 5: 6 }")
    assert {found.code: bool(found.fix) for found in check(text).diagnostics if found.severity is Severity.ERROR} == {
        "NOE004": True,
        "NOE110": False,
    }


def test_diagnostics_stand_in_the_order_of_the_file_and_none_twice() -> None:
    text = whole(
        """
        workload: { shared: &task { kind: nothing } }
        workflow:
          - { step: a, tool: *task, next: { arcs: [ { step: b } ] } }
          - { step: b, tool: *task, zzz: 1 }
        """
    )
    found = [diagnostic for diagnostic in check(text).diagnostics if diagnostic.severity is Severity.ERROR]
    assert [diagnostic.code for diagnostic in found] == ["NOE110", "NOE101"]


def test_the_source_map_says_where_steps_tasks_and_templates_stand() -> None:
    text = whole(
        """
        workflow:
          - step: load
            tool:
              - { name: get, kind: http, input: { url: "{{ workload.u }}" } }
        workbook:
          block: { tool: { kind: noop } }
        """
    )
    places = check(text).source_map()
    assert {path: span.line for path, span in places.items()} == {
        "workflow/load": 5,
        "workflow/load/tool/get": 7,
        "workflow/load/tool/get/url": 7,
        "workbook/block": 9,
        "workbook/block/tool/block_task": 9,
    }


def test_the_source_map_says_at_which_line_code_and_scripts_begin() -> None:
    text = whole(
        """
        workflow:
          - step: load
            tool:
              - name: block
                kind: python
                code: |

                  result = 1
              - { name: short, kind: script, script: echo }
              - { name: file, kind: python, file: load.py }
              - { name: other, kind: nothing, code: x }
        """
    )
    places = check(text).source_map()
    assert {path: span.line for path, span in places.items() if path.count("/") == 4} == {
        "workflow/load/tool/block/code": 10,
        "workflow/load/tool/short/script": 12,
    }


def test_the_source_map_leaves_out_texts_whose_lines_are_not_those_of_the_file() -> None:
    text = whole(
        r"""
        workflow:
          - step: load
            tool:
              - { name: escaped, kind: python, code: "x = 1\nresult = x" }
              - name: quoted
                kind: python
                code: 'x = 1

                  result = x'
              - name: folded
                kind: script
                script: >
                  echo a

                  echo b
              - { name: ended, kind: python, code: "result = 1\n" }
              - name: joined
                kind: script
                script: >
                  echo a
                  b
        """
    )
    places = check(text).source_map()
    assert {path: span.line for path, span in places.items() if path.count("/") == 4} == {
        "workflow/load/tool/ended/code": 19,
        "workflow/load/tool/joined/script": 23,
    }


def many(count: int) -> str:
    """A playbook with `count` warnings before twice as many errors."""
    steps = "".join(f"  - {{ step: s{number} }}\n" for number in range(count))
    return f"{HEAD}workflow:\n{steps}  - step: last\n    tool: {{ kind: noop }}\n" + "".join(
        f"    zz{number}: 1\n    qq{number}: 1\n" for number in range(count)
    )


def test_few_diagnostics_are_all_told() -> None:
    found = [diagnostic.code for diagnostic in check(many(5)).diagnostics]
    assert (found.count("NOE101"), found.count("NOE207")) == (10, 5)


def test_of_too_many_diagnostics_the_gravest_are_told_and_the_others_counted() -> None:
    found = check(many(DIAGNOSTICS_MAX - 100)).diagnostics
    assert len(found) == DIAGNOSTICS_MAX + 1
    assert {diagnostic.code for diagnostic in found[:-1]} == {"NOE101"}
    assert (found[-1].code, found[-1].severity) == ("NOE008", Severity.ERROR)
    assert "more problems are not shown" in found[-1].message


def test_warnings_that_are_left_out_make_no_error() -> None:
    steps = "".join(f"  - {{ step: s{number} }}\n" for number in range(DIAGNOSTICS_MAX + 10))
    found = check(f"{HEAD}workflow:\n{steps}")
    assert found.diagnostics[-1].code == "NOE008"
    assert found.diagnostics[-1].severity is not Severity.ERROR
    assert found.playbook is not None
