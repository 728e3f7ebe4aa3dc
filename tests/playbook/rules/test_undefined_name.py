import time

import pytest

from tests.playbook.texts import said, whole, with_step, with_tool


def message(value: str) -> str:
    (found,) = said(with_tool(f"kind: noop\nset: {{ ctx.found: '{{{{ {value} }}}}' }}"), "NOE502")
    return found.message


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("found", "ctx.found"),
        ("fuond", "ctx.found"),
        ("context.x", "ctx"),
        ("result.rows", "output.data"),
        ("ouput.data", "output"),
        ("lod.data", "load"),
        ("_prevv", "_prev"),
    ],
)
def test_a_name_that_is_near_or_well_known_elsewhere_gets_a_suggestion(name: str, meant: str) -> None:
    assert message(name).endswith(f"; did you mean `{meant}`?")


def test_a_well_known_name_is_not_suggested_where_it_cannot_be_read() -> None:
    (found,) = said(with_step("input: { a: '{{ response.rows }}' }\ntool: { kind: noop }"), "NOE502")
    assert "did you mean" not in found.message
    assert found.hint is not None
    assert found.hint.startswith("a parameter is read as `workload.response`\nvisible here: ctx, event,")


def test_a_name_alone_may_be_text_without_quotes() -> None:
    (found,) = said(with_tool("kind: noop\nset: { ctx.x: '{{ completely_else }}' }"), "NOE502")
    assert found.hint is not None
    assert found.hint.startswith("text stands in quotes, 'completely_else'; a parameter is read as")


def test_a_keychain_entry_sees_neither_steps_nor_what_is_set() -> None:
    text = """
    keychain:
      - { name: key, kind: file, path: "{{ loadd.x }}" }
    workflow:
      - step: load
        tool: { kind: noop, set: { ctx.loadd: 1 } }
    """
    (found,) = said(whole(text), "NOE502")
    assert "did you mean" not in found.message


def test_the_element_of_a_loop_is_called_by_its_iterator() -> None:
    text = "loop: { in: [1], iterator: city }\ntool: { kind: noop, set: { iter.x: '{{ item }}' } }"
    (found,) = said(with_step(text), "NOE502")
    assert found.message.endswith("; did you mean `iter.city`?")


def test_a_text_without_quotes_may_look_like_a_well_known_name() -> None:
    (found,) = said(with_step("next: { arcs: [{ step: load, when: '{{ output.data == error }}' }] }"), "NOE502")
    assert found.message.endswith("; did you mean `output.error`?")
    assert found.hint is not None
    assert found.hint.startswith("text stands in quotes, 'error'\nvisible here:")


def test_a_status_without_quotes_gets_them() -> None:
    text = with_step("tool: { kind: noop }\nnext: { arcs: [{ step: load, when: '{{ output.status == error }}' }] }")
    (found,) = said(text, "NOE502")
    assert found.message == '"error" is not defined in an arc\'s when; put the text in quotes'
    assert [edit.text for edit in found.fix] == ["''error''"]


def test_the_environment_is_not_there() -> None:
    (found,) = said(with_tool("kind: noop\nset: { ctx.x: '{{ env.HOME }}' }"), "NOE502")
    assert found.hint is not None
    assert found.hint.startswith("templates do not read the environment: declare a keychain entry")


@pytest.mark.serial
def test_a_file_full_of_unknown_names_is_checked_in_linear_time() -> None:
    steps = "".join(
        f"  - step: collect_{n}\n    tool: {{ kind: noop, set: {{ ctx.value_{n}: '{{{{ unknown_{n} }}}}' }} }}\n"
        for n in range(3_000)
    )
    began = time.perf_counter()
    found = said(whole("workflow:\n" + steps), "NOE502")
    assert found
    assert time.perf_counter() - began < 10


def test_suggestions_stop_when_a_file_full_of_mistakes_has_used_up_its_comparisons() -> None:
    declared = ", ".join(f"customer_{number:04}: 1" for number in range(2000))
    wrong = "".join(f"\n  ctx.a{number}: '{{{{ customer_{number:04}x }}}}'" for number in range(30))
    found = said(
        whole(f"workload: {{ {declared} }}\nworkflow:\n  - step: start\n    set:" + wrong.replace("\n", "\n    ")),
        "NOE502",
    )
    helped = ["did you mean" in each.message for each in found]
    assert len(helped) == 30
    assert (helped[0], helped[-1]) == (True, False)
