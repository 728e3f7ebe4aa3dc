import pytest

from tests.playbook.texts import said, with_tool


def codes(target: str, expression: str) -> list[str]:
    text = with_tool(
        f"""
        - name: get
          kind: noop
          set: {{ ctx.kept_ref: "{{{{ output.ref }}}}", ctx.deep.kept_ref: "{{{{ output.ref }}}}" }}
        - name: put
          kind: noop
          set: {{ {target}: "{{{{ {expression} }}}}" }}
        """
    )
    return [code for code in ("NOE404", "NOE405") if said(text, code)]


@pytest.mark.parametrize(
    "reference", ["output.ref", "get.ref", "load['ref']", "ctx.kept_ref", "ctx.deep.kept_ref", "outcome.ref"]
)
def test_what_the_text_shows_to_be_a_reference_needs_a_target_that_says_so(reference: str) -> None:
    assert codes("ctx.x_ref", reference) == []
    assert codes("ctx.x", reference) == ["NOE405"]


@pytest.mark.parametrize(
    "data",
    [
        "output.data",
        "output['data'].rows",
        "get.status",
        "output.ref.meta.bytes",
        "output.data + 1",
        "'a' ~ output.ref",
        "[output.ref]",
        "output.data or 'none'",
        "output.data if ctx.x else 'none'",
        "output.data if ctx.x",
        "output.ref == none",
        "output.data | length",
        "output.data.upper()",
    ],
)
def test_what_the_text_shows_to_be_data_needs_a_target_that_does_not_say_reference(data: str) -> None:
    assert codes("ctx.x", data) == []
    assert codes("ctx.x_ref", data) == ["NOE404"]


@pytest.mark.parametrize(
    "unknown",
    [
        "ctx.rows",
        "iter.item_ref",
        "input.rows",
        "workload.git_ref",
        "_prev",
        "output.data.file_ref",
        "output.data if ctx.x else output.ref",
        "ctx.kept_ref | default(none)",
        "ctx.refs | first",
        "ctx.refs.get('a')",
        "ctx.refs[input.name]",
        "none",
        "outcome.result",
    ],
)
def test_where_the_text_does_not_tell_nothing_is_said(unknown: str) -> None:
    assert codes("ctx.x", unknown) == []
    assert codes("ctx.x_ref", unknown) == []


def test_a_template_that_cannot_be_read_is_left_to_its_own_rule() -> None:
    assert codes("ctx.x_ref", "output.ref +") == []
