import pytest

from noetl.playbook.model import Directive
from noetl.playbook.source.edits import apply_edits
from tests.playbook.texts import model, said, with_tool

BLOCK = with_tool(
    """
    - name: get
      kind: noop
      spec:
        policy:
          rules:
            - when: "{{ ctx.a }}"
              then: { do: fail }  # no way back
      set: { ctx.b: 1 }
    """
)


@pytest.mark.parametrize("text", [BLOCK, BLOCK.replace("\n", "\r\n"), BLOCK.partition("\n        set")[0]])
def test_the_fix_adds_an_else_below_the_last_rule_and_keeps_what_happens(text: str) -> None:
    (found,) = said(text, "NOE306")
    fixed = apply_edits(text, found.fix).text
    assert said(fixed, "NOE306") == []
    policy = model(fixed).workflow[0].tool[0].policy
    assert policy is not None
    assert [rule.then.do for rule in policy.rules] == [Directive.FAIL, Directive.CONTINUE]
    assert fixed.replace("\r\n", "\n").startswith(BLOCK.partition("\n        set")[0])


@pytest.mark.parametrize(
    "rules",
    [
        "[ { when: '{{ ctx.a }}', then: { do: fail } } ]",
        "[]",
        "\n      - when: '{{ ctx.a }}'\n        then:\n          do: fail\n          x-note: |\n            text",
    ],
)
def test_there_is_no_fix_where_the_list_does_not_end_in_a_line_of_its_own(rules: str) -> None:
    (found,) = said(with_tool(f"kind: noop\nspec:\n  policy:\n    rules: {rules}"), "NOE306")
    assert found.fix == ()
