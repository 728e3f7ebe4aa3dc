from tests.playbook.texts import said, whole

STEP = "step: a\n    tool: { kind: noop }\n"


def test_each_alias_of_a_step_is_told_at_its_own_place() -> None:
    found = said(whole(f"workflow:\n  - &s\n    {STEP}  - *s\n  - *s\n"), "NOE201")
    assert [(each.span.line, each.span.column) for each in found] == [(8, 5), (9, 5)]
    assert {each.message for each in found} == {'an alias repeats step "a" of line 6; step names are unique'}


def test_an_alias_whose_anchor_is_not_seen_is_told_at_what_it_repeats() -> None:
    (found,) = said(whole(f"workflow:\n  - &s # the first\n    {STEP}  - *s\n"), "NOE201")
    assert (found.span.line, found.span.column) == (6, 11)


def test_each_alias_of_a_task_is_told_at_its_own_place() -> None:
    text = whole("workflow: [ { step: a, tool: [ &t { name: t, kind: noop }, *t, *t ] } ]\n")
    assert [each.span.column for each in said(text, "NOE202")] == [
        text.splitlines()[3].index("*t") + 1 + 4 * at for at in (0, 1)
    ]
