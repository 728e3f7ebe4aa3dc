from noetl.playbook.model import Admit, AdmitRule, Arc, Join, Step
from noetl.playbook.net import meetings
from noetl.playbook.net.findings import Certainty, EndlessCycle, MeetWithoutJoin
from tests.playbook.net.building import FAILED, HTTP, exclusive, found, inclusive, step

END = step("end", tool=())
WORK = step("end")


def test_a_cycle_that_no_success_leaves_must_be_endless() -> None:
    a, b = step("a", exclusive("b")), step("b", exclusive("a"))
    assert found(EndlessCycle, a, b) == [EndlessCycle((a, b), Certainty.MUST, can_fail=True)]


def test_a_cycle_of_routing_steps_cannot_even_fail() -> None:
    a = step("a", exclusive("a"), tool=())
    assert found(EndlessCycle, a) == [EndlessCycle((a,), Certainty.MUST, can_fail=False)]


def test_a_conditional_arc_is_an_exit() -> None:
    assert found(EndlessCycle, step("a", exclusive(Arc("a", "{{ ctx.more }}")))) == []
    assert found(EndlessCycle, step("a", exclusive(Arc("end", "{{ ctx.done }}"), "a")), END) == []


def test_a_branch_that_leaves_does_not_end_a_cycle_that_goes_on_beside_it() -> None:
    a = step("a", inclusive("a", Arc("end", "{{ event.name == 'step.done' and ctx.done }}")))
    assert found(EndlessCycle, a, END) == [EndlessCycle((a,), Certainty.MUST, can_fail=True)]


def test_a_failure_that_an_arc_takes_out_makes_it_a_maybe() -> None:
    a = step("a", exclusive("a", Arc("end", FAILED)))
    assert found(EndlessCycle, a, END) == [EndlessCycle((a,), Certainty.MAY, can_fail=True)]


def test_only_the_last_of_cycles_that_lead_into_one_another_is_named() -> None:
    a, b = step("a", exclusive(Arc("b", "{{ ctx.x }}"), "a")), step("b", exclusive("b"))
    assert found(EndlessCycle, a, b) == [EndlessCycle((b,), Certainty.MUST, can_fail=True)]


def test_a_cycle_that_no_run_reaches_is_left_alone() -> None:
    assert found(EndlessCycle, END, step("a", exclusive("a"))) == []


def test_an_admission_that_may_refuse_is_an_exit_and_one_that_never_does_is_not() -> None:
    open_rule, closed_rule = AdmitRule("{{ ctx.go }}", allow=True), AdmitRule(None, allow=False, is_else=True)
    gate = Step("a", tool=HTTP, admit=Admit((open_rule, closed_rule)), next=exclusive("a"))
    assert found(EndlessCycle, gate) == []
    door = Step("a", tool=HTTP, admit=Admit((AdmitRule(True, allow=True),)), next=exclusive("a"))
    assert found(EndlessCycle, door) == [EndlessCycle((door,), Certainty.MUST, can_fail=True)]


def test_a_long_cycle_needs_no_recursion() -> None:
    count = 3_000
    steps = [step(f"s{number}", exclusive(f"s{(number + 1) % count}")) for number in range(count)]
    [finding] = found(EndlessCycle, *steps)
    assert isinstance(finding, EndlessCycle)
    assert len(finding.steps) == count


def test_branches_of_a_fan_out_meet_without_a_join() -> None:
    arcs = (Arc("b"), Arc("c", "{{ ctx.x }}"))
    a, b, c = step("a", inclusive(*arcs)), step("b", exclusive("end")), step("c", exclusive("end"))
    assert found(MeetWithoutJoin, a, b, c, WORK) == [MeetWithoutJoin(a, WORK, arcs)]


def test_a_join_keeps_branches_from_meeting() -> None:
    joined = Step("end", tool=HTTP, join=Join.ALL, next=exclusive("after"))
    steps = (step("a", inclusive("b", "c")), step("b", exclusive("end")), step("c", exclusive("end")))
    assert found(MeetWithoutJoin, *steps, joined, step("after")) == []


def test_a_branch_that_goes_around_the_join_meets_behind_it() -> None:
    a = step("a", inclusive("b", "c", "d"))
    middle = (step("b", exclusive("j")), step("c", exclusive("j")), step("d", exclusive("after")))
    join = Step("j", join=Join.ALL, next=exclusive("after"))
    after = step("after")
    [finding] = found(MeetWithoutJoin, a, *middle, join, after)
    assert isinstance(finding, MeetWithoutJoin)
    assert (finding.meeting, finding.arcs) == (after, (a.next.arcs[2], a.next.arcs[0]))


def test_joins_one_behind_the_other_let_the_branches_go_on_in_order() -> None:
    a = step("a", inclusive("b", "j2"))
    first = Step("j1", join=Join.ALL, next=exclusive("j2"))
    second = Step("j2", join=Join.ALL, tool=HTTP)
    assert found(MeetWithoutJoin, a, step("b", exclusive("j1")), first, second) == []


def test_a_join_that_admits_no_token_is_the_end_of_a_branch() -> None:
    a = step("a", inclusive("j", "b"))
    closed = Step("j", join=Join.ALL, admit=Admit(), next=exclusive("end"))
    assert found(MeetWithoutJoin, a, closed, step("b", exclusive("end")), WORK) == []


def test_arcs_that_exclude_one_another_never_meet() -> None:
    for one, other in (("{{ ctx.x }}", "{{ not ctx.x }}"), ("{{ ctx.k == 'a' }}", "{{ ctx.k == 'b' }}")):
        assert found(MeetWithoutJoin, step("a", inclusive(Arc("end", one), Arc("end", other))), WORK) == []


def test_two_arcs_to_one_step_meet_at_once_and_at_a_bare_end_do_no_harm() -> None:
    a = step("a", inclusive("end", "end"))
    assert found(MeetWithoutJoin, a, WORK) == [MeetWithoutJoin(a, WORK, (a.next.arcs[0], a.next.arcs[1]))]
    assert found(MeetWithoutJoin, a, END) == []


def test_a_handler_that_both_branches_call_on_failure_is_no_meeting() -> None:
    b, c = (step(name, exclusive(Arc("end", FAILED))) for name in ("b", "c"))
    assert found(MeetWithoutJoin, step("a", inclusive("b", "c")), b, c, WORK) == []


def test_branches_that_come_back_meet_at_the_fan_out() -> None:
    a = step("a", inclusive("b", "c", Arc("end", "{{ ctx.x }}")))
    [finding] = found(MeetWithoutJoin, a, step("b", exclusive("a")), step("c", exclusive("a")), END)
    assert isinstance(finding, MeetWithoutJoin)
    assert finding.meeting is a


def test_a_fan_out_that_is_itself_a_join_does_not_meet_itself() -> None:
    a = Step("a", join=Join.ALL, tool=HTTP, next=inclusive("b", "c", Arc("end", "{{ ctx.x }}")))
    assert found(MeetWithoutJoin, a, step("b", exclusive("a")), step("c", exclusive("a")), END) == []


def test_a_branch_in_a_circle_of_its_own_is_left() -> None:
    a = step("a", inclusive("b", "end"))
    assert found(MeetWithoutJoin, a, step("b", exclusive(Arc("b", "{{ ctx.x }}"))), WORK) == []


def test_the_search_ahead_of_a_fan_out_is_bounded() -> None:
    length = meetings.VISITS_MAX
    share = meetings.VISITS_MIN
    fans = [step(f"f{number}", inclusive(f"f{number + 1}", f"leaf{number}")) for number in range(length // share)]
    leaves = [step(f"leaf{number}") for number in range(len(fans))]
    last = step(f"f{len(fans)}")
    assert found(MeetWithoutJoin, *fans, *leaves, last) == []
