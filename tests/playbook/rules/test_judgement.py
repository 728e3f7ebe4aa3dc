import pytest

from noetl.playbook.rules.judgement import judge
from tests.playbook.texts import document, said, whole

LONELY = """
  - step: lonely
    tool: { kind: noop }
"""

SOUND = """
workflow:
  - step: start
    tool: { kind: noop }
"""


def unreached(text: str) -> list[str]:
    return [found.message for found in said(whole(text), "NOE801")]


def test_a_step_that_no_arc_leads_to_is_told() -> None:
    assert unreached(SOUND + LONELY) == ['step "lonely" is never reached']


@pytest.mark.parametrize(
    "mistake",
    [
        "    next: { arcs: [{ step: lonly }] }",
        "    nxt: { arcs: [{ step: lonely }] }",
        "    next: { arcs: [{ when: true }] }",
        "    next: { arcs: 5 }",
        "    next: [{ step: lonely }]",
        "  - tool: { kind: noop }\n    next: { arcs: [{ step: lonely }] }",
        "  - step: start\n    tool: { kind: noop }",
        "  - step: a\n    tool: { kind: noop, spec: { policy: { rules: [{ else: { then: { do: jump, to: x } } }] } } }",
        "  - step: twice\n    tool: [{ name: a, kind: noop }, { name: a, kind: noop }]",
    ],
)
def test_no_step_is_called_unreachable_while_a_mistake_may_hide_the_way_to_it(mistake: str) -> None:
    assert unreached(f"{SOUND}{mistake}{LONELY}") == []


def test_a_step_without_a_name_before_all_others_may_lead_anywhere() -> None:
    nameless = "  - tool: { kind: noop }\n    next: { arcs: [{ step: lonely }] }\n"
    assert unreached("workflow:\n" + nameless + SOUND.removeprefix("\nworkflow:\n") + LONELY.lstrip("\n")) == []


def test_an_unknown_entry_step_says_nothing_about_the_others() -> None:
    assert unreached("executor: { spec: { entry_step: nowhere } }\n" + SOUND.lstrip("\n") + LONELY) == []


@pytest.mark.parametrize(
    "mistake",
    [
        "x-own: 1\nextra: 1\n",
        "workload: 5\n",
    ],
)
def test_a_mistake_outside_the_workflow_does_not_hide_an_unreachable_step(mistake: str) -> None:
    assert unreached(mistake + SOUND.lstrip("\n") + LONELY) == ['step "lonely" is never reached']


@pytest.mark.parametrize(
    "word",
    [
        "    args: { a: 1 }\n",
        "    spec: { policy: { emit: {} } }\n",
        "    tool: { kind: http, input: { url: x, colour: red } }\n",
    ],
)
def test_older_words_and_what_has_no_say_in_the_net_do_not_stop_the_judgement(word: str) -> None:
    text = f"workflow:\n  - step: start\n{word}"
    text += "" if "tool" in word else "    tool: { kind: noop }\n"
    assert unreached(text + LONELY.lstrip("\n")) == ['step "lonely" is never reached']


def test_a_step_with_a_mistake_is_not_judged_and_the_next_one_is() -> None:
    arcs = "    next: { arcs: [{ step: end, when: '{{ false }}' }, { step: end }] }\n"
    text = f"workflow:\n  - step: start\n    colour: red\n    tool: {{ kind: noop }}\n{arcs}"
    text += f"  - step: end\n    tool: {{ kind: noop }}\n{arcs}"
    assert [found.span.line for found in said(whole(text), "NOE811")] == [11]


def test_a_step_with_a_mistake_takes_no_part_in_cycles_meetings_or_unrouted_failures() -> None:
    text = """
    workflow:
      - step: start
        tool: { kind: noop }
        next: { spec: { mode: inclusive }, arcs: [{ step: a }, { step: b }] }
      - step: a
        colour: red
        tool: { kind: http, url: x }
        next: { arcs: [{ step: b }] }
      - step: b
        colour: red
        tool: { kind: http, url: x }
        next: { arcs: [{ step: a }] }
    """
    compiled = document(whole(text))
    assert compiled.once(judge).findings == ()


BLOCK = """
workbook:
  block:
    colour: red
    tool:
      - kind: noop
        spec: { policy: { rules: [{ when: false, then: { do: fail } }] } }
"""


def test_a_broken_workbook_block_is_not_judged() -> None:
    assert said(whole(SOUND + BLOCK), "NOE814") == []
    assert len(said(whole(SOUND + BLOCK.replace("    colour: red\n", "")), "NOE814")) == 1
