import pytest

from tests.playbook.texts import said, with_tool

PIPELINE = """
- name: first
  kind: noop
  set: {{ ctx.x: "{{{{ {read} }}}}" }}
- name: second
  kind: noop
- name: third
  kind: noop
  spec:
    policy:
      rules:
        - {{ when: "{{{{ ctx.more }}}}", then: {{ do: {then} }} }}
        - {{ else: {{ then: {{ do: break }} }} }}
"""


@pytest.mark.parametrize(
    ("read", "then", "is_told"),
    [
        ("second.data", "continue", True),
        ("third.data", "jump, to: second", True),
        ("third.data", "jump, to: first", False),
        ("second.data", "jump, to: nowhere", False),
        ("second.data | default(1)", "continue", False),
        ("first.data", "continue", False),
    ],
)
def test_a_task_that_can_only_run_later_cannot_be_read(read: str, then: str, is_told: bool) -> None:
    assert bool(said(with_tool(PIPELINE.format(read=read, then=then)), "NOE512")) is is_told


def test_a_guard_may_ask_for_a_task_that_has_not_run() -> None:
    text = with_tool(
        """
        - name: first
          kind: noop
          spec:
            policy:
              rules:
                - { when: "{{ second.data }}", then: { do: break } }
                - { else: { then: { do: continue } } }
        - name: second
          kind: noop
        """
    )
    assert said(text, "NOE512") == []


def test_nothing_is_said_of_tasks_with_one_name_or_of_the_test_of_a_sugar() -> None:
    twice = PIPELINE.format(read="third.data", then="continue").replace("name: second", "name: first")
    assert said(with_tool(twice), "NOE512") == []
    sugar = """
    - name: pick
      choose:
        - when: true
          tool: { name: inner, kind: noop, set: { ctx.x: "{{ later.data }}" } }
    - name: later
      kind: noop
    """
    assert len(said(with_tool(sugar), "NOE512")) == 1
