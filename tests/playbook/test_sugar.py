import msgspec

from noetl.playbook.model import Directive, Policy, Rule, Task, Then
from noetl.playbook.sugar import choose, is_counter, repeat_until, repeat_while
from tests.playbook.texts import check, document, errors, tasks, with_tool

A, B, C = (Task(name, "noop") for name in "abc")


def jump(to: str) -> Then:
    return Then(Directive.JUMP, to=to)


def otherwise(then: Then) -> Rule:
    return Rule(None, then, is_else=True)


def gate(name: str, *before: Rule) -> Task:
    return Task(name, "noop", policy=Policy(before=before))


def end(name: str) -> Task:
    return gate(name, otherwise(Then(Directive.SKIP)))


def test_a_choice_jumps_to_one_branch_and_every_branch_jumps_to_the_end() -> None:
    assert choose("pick", [("{{ ctx.x }}", [A, B])], [C]) == [
        gate("pick_choose", Rule("{{ ctx.x }}", jump("a")), otherwise(jump("c"))),
        A,
        B,
        gate("pick_1_end", otherwise(jump("pick_end"))),
        C,
        gate("pick_else_end", otherwise(jump("pick_end"))),
        end("pick_end"),
    ]


def test_a_branch_without_tasks_and_a_choice_without_else_lead_straight_to_the_end() -> None:
    assert choose("pick", [(True, []), ("{{ ctx.x }}", [A])], []) == [
        gate("pick_choose", Rule(True, jump("pick_end")), Rule("{{ ctx.x }}", jump("a")), otherwise(jump("pick_end"))),
        A,
        gate("pick_2_end", otherwise(jump("pick_end"))),
        end("pick_end"),
    ]


def test_while_tests_before_each_round() -> None:
    assert repeat_while("more", "{{ ctx.x }}", [A], None) == [
        gate("more_test", Rule("{{ ctx.x }}", Then(Directive.CONTINUE)), otherwise(jump("more_end"))),
        A,
        gate("more_repeat", otherwise(jump("more_test"))),
        end("more_end"),
    ]


def test_until_tests_after_each_round() -> None:
    assert repeat_until("done", "{{ ctx.x }}", [A], None) == [
        Task("done_round", "noop"),
        A,
        gate("done_test", Rule("{{ ctx.x }}", jump("done_end")), otherwise(jump("done_round"))),
        end("done_end"),
    ]


COUNT = Then(Directive.CONTINUE, set={"step.more_rounds": "{{ step.more_rounds + 1 }}"})
ROUND = msgspec.structs.replace(
    gate("more_round", Rule("{{ step.more_rounds >= 3 }}", Then(Directive.FAIL)), otherwise(COUNT)),
    desc="`more` has run 3 rounds, which is its `max`",
)
ENTER = gate("more_enter", otherwise(Then(Directive.SKIP, set={"step.more_rounds": 0})))


def test_a_bound_counts_rounds_and_fails_past_the_last() -> None:
    assert repeat_while("more", True, [A], 3)[:3] == [
        ENTER,
        gate("more_test", Rule(True, Then(Directive.CONTINUE)), otherwise(jump("more_end"))),
        ROUND,
    ]
    assert repeat_until("more", True, [A], 3)[:3] == [ENTER, ROUND, A]
    assert repeat_until("more", True, [A], 3)[3] == gate(
        "more_test", Rule(True, jump("more_end")), otherwise(jump("more_round"))
    )


def test_the_task_that_counts_rounds_is_known() -> None:
    assert is_counter(ROUND)
    assert not is_counter(ENTER)
    assert not is_counter(Task("more_round", "noop", desc="Counts what there is"))


WRITTEN = with_tool(
    """
    - name: pick
      choose:
        - when: "{{ ctx.x }}"
          tool: [ { name: a, kind: noop }, { kind: noop } ]
        - when: "{{ ctx.y }}"
          tool: { kind: noop }
        - else:
            tool:
              - name: more
                while: { when: "{{ ctx.z }}", max: 3, tool: [ { name: b, kind: noop } ] }
    - name: done
      until: { when: "{{ ctx.w }}", tool: { name: c, kind: noop } }
    """
)

NAMES = [
    "pick_choose", "a", "pick_1_1", "pick_1_end", "pick_2_task", "pick_2_end",
    "more_enter", "more_test", "more_round", "b", "more_repeat", "more_end", "pick_else_end", "pick_end",
    "done_round", "c", "done_test", "done_end",
]  # fmt: skip


def test_sugar_in_a_playbook_becomes_tasks_with_stable_names() -> None:
    assert errors(WRITTEN) == []
    assert [task.name for task in tasks(WRITTEN)] == NAMES


def test_a_generated_task_stands_where_its_sugar_does() -> None:
    places = check(WRITTEN).source_map()
    lines = {name: places[f"workflow/load/tool/{name}"].line for name in NAMES}
    assert lines["pick_choose"] == lines["pick_end"] == 7
    assert lines["more_test"] == lines["more_round"] == 15
    assert (lines["a"], lines["done_test"]) == (10, 17)


def test_conditions_of_sugar_are_noted_as_templates() -> None:
    assert [use.template.text for use in document(WRITTEN).notes.templates] == [
        "{{ ctx.x }}", "{{ ctx.y }}", "{{ ctx.z }}", "{{ ctx.w }}",
    ]  # fmt: skip


def test_a_branch_without_a_condition_is_never_taken() -> None:
    text = with_tool("- { name: pick, choose: [ { tool: { name: a, kind: noop } } ] }\n- { until: 5 }")
    found = document(text).playbook.workflow[0].tool
    assert found[0].policy is not None
    assert found[0].policy.before[0] == Rule(False, jump("a"))
    assert [task.name for task in found[-3:]] == ["task_1_round", "task_1_test", "task_1_end"]
