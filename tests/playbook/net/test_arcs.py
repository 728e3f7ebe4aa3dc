from noetl.playbook.model import Admit, AdmitRule, Arc, Directive, FailureMode, Guard, OnUnmatched, Policy, Step, Task
from noetl.playbook.net import analyse
from noetl.playbook.net.findings import (
    AdmissionNever,
    Certainty,
    LoopDoneWithoutLoop,
    LostToken,
    NeverArc,
    NeverReason,
    ShadowedArc,
    ShadowedRule,
    StepDoneOnLoop,
    UnreachableStep,
    UnroutedFailure,
    UnroutedFailures,
)
from tests.playbook.net.building import (
    DONE,
    FAILED,
    HTTP,
    LOOP,
    LOOP_DONE,
    NOOP,
    exclusive,
    found,
    inclusive,
    otherwise,
    playbook,
    rule,
    step,
    task,
)

END = step("end", tool=())


def never(when: Guard, tool: tuple[Task, ...] = HTTP) -> NeverReason:
    arc = Arc("end", when)
    [finding] = found(NeverArc, step("a", exclusive(arc), tool), END)
    assert isinstance(finding, NeverArc)
    assert finding.arc is arc
    return finding.reason


def test_an_arc_behind_one_that_takes_every_success_is_shadowed() -> None:
    first, second = Arc("end"), Arc("end", "{{ output.status == 'ok' and ctx.x }}")
    a = step("a", exclusive(first, second), tool=())
    assert found(ShadowedArc, a, END) == [ShadowedArc(a, second, (first,))]


def test_an_arc_for_failures_is_not_shadowed_by_one_without_a_guard() -> None:
    assert found(ShadowedArc, step("a", exclusive("end", Arc("end", FAILED))), END) == []


def test_an_arc_with_an_open_guard_behind_one_without_may_still_take_failures() -> None:
    assert found(ShadowedArc, step("a", exclusive("end", Arc("end", "{{ ctx.x }}"))), END) == []


def test_an_arc_can_be_shadowed_by_several_together() -> None:
    arcs = (Arc("end", "{{ ctx.x }}"), Arc("end", DONE), Arc("end", "{{ not ctx.x }}"), Arc("end", True))
    a = step("a", exclusive(*arcs))
    assert found(ShadowedArc, a, END) == [ShadowedArc(a, arcs[3], (arcs[0], arcs[1], arcs[2]))]


def test_nothing_is_shadowed_where_all_matches_are_taken() -> None:
    assert found(ShadowedArc, step("a", inclusive(Arc("end", True), Arc("end", True))), END) == []


def test_a_constant_guard_is_known_in_every_spelling() -> None:
    guards: tuple[Guard, ...] = (False, "{{ false }}", "{{ 1 == 2 }}", "{{ not true }}", "{{ output.status == 1 }}")
    assert [never(guard) for guard in guards] == [NeverReason.CONSTANT] * 5


def test_a_guard_that_contradicts_itself_is_told_apart() -> None:
    guards = (
        "{{ ctx.x and not ctx.x }}",
        "{{ event.name == 'step.finished' }}",
        "{{ output.status == 'failed' }}",
        "{{ ctx.k == 'a' and ctx.k == 'b' }}",
        "{{ event.name in [] }}",
        "{{ output.error.kind == 'sql' and output.status == 'ok' }}",
        "{{ ctx.x if ctx.y and not ctx.y }}",
    )
    assert [never(guard) for guard in guards] == [NeverReason.CONTRADICTION] * len(guards)


def test_a_routing_step_cannot_fail() -> None:
    assert never(FAILED, tool=()) is NeverReason.NO_FAILURE


def test_a_step_with_a_deadline_can_fail_even_without_a_tool() -> None:
    timed = Step("a", deadline_s=5.0, next=exclusive("end", Arc("end", FAILED)))
    assert found(NeverArc, timed, END) == []


def test_a_pipeline_that_always_fails_has_no_success() -> None:
    tool = (task("t", otherwise(Directive.FAIL)),)
    assert never(None, tool) is NeverReason.NO_SUCCESS
    assert [
        each for each in analyse(playbook(step("a", exclusive("end"), tool), END)) if isinstance(each, LostToken)
    ] == []


def test_what_is_not_understood_may_be_true() -> None:
    guards = (
        "{{ ctx.x | length }}",
        "{{ event.name in ctx.names }}",
        "{{ event.name in ['step.done', ctx.other] }}",
        "{{ event.name < 'z' }}",
        "{{ ctx['a'].b and ctx.list[0] }}",
        "{{ 1 < ctx.x < 3 }}",
        "{{ ctx.x is divisibleby(3) }}",
        "{{ range(3) }}",
        "plain text",
        "{{ 1 / 0 }}",
        "{{ ctx.x.y[0].z == 4 }}",
        "{{ 3 in ctx.list }}",
    )
    for guard in guards:
        assert found(NeverArc, step("a", exclusive(Arc("end", guard))), END) == []


def test_a_name_is_the_same_however_it_is_written() -> None:
    first, second = Arc("end", "{{ outcome['status'] == 'ok' }}"), Arc("end", "{{ 'ok' == output.status }}")
    a = step("a", exclusive(first, second))
    assert found(ShadowedArc, a, END) == [ShadowedArc(a, second, (first,))]


def test_step_done_on_a_loop_step_has_a_finding_of_its_own() -> None:
    arc = Arc("end", DONE)
    a = step("a", exclusive(arc), loop=LOOP)
    assert found(StepDoneOnLoop, a, END) == [StepDoneOnLoop(a, arc, Certainty.MUST)]
    assert found(NeverArc, a, END) == []
    assert found(LostToken, a, END) == [LostToken(a, (arc,), Certainty.MUST)]


def test_step_done_beside_step_failed_on_a_loop_step_is_only_partly_wrong() -> None:
    arc = Arc("end", "{{ event.name in ['step.done', 'step.failed'] }}")
    a = step("a", exclusive(arc), loop=LOOP)
    assert found(StepDoneOnLoop, a, END) == [StepDoneOnLoop(a, arc, Certainty.MAY)]
    assert found(LostToken, a, END) == [LostToken(a, (arc,), Certainty.MUST)]


def test_a_guard_for_any_success_or_for_anything_but_one_is_no_mistake() -> None:
    both = Arc("end", "{{ event.name in ['step.done', 'loop.done'] }}")
    other = Arc("end", "{{ event.name != 'loop.done' }}")
    assert found(StepDoneOnLoop, step("a", exclusive(both, other), loop=LOOP), END) == []


def test_loop_done_on_a_step_without_a_loop_has_a_finding_of_its_own() -> None:
    arc = Arc("end", LOOP_DONE)
    a = step("a", exclusive(arc))
    assert found(LoopDoneWithoutLoop, a, END) == [LoopDoneWithoutLoop(a, arc, Certainty.MUST)]


def test_a_choice_without_a_fallback_may_lose_the_token() -> None:
    arcs = (Arc("end", "{{ ctx.x == 'a' }}"), Arc("end", "{{ ctx.x == 'b' }}"), Arc("end", FAILED))
    a = step("a", exclusive(*arcs))
    assert found(LostToken, a, END) == [LostToken(a, arcs[:2], Certainty.MAY)]


def test_a_guard_and_its_opposite_lose_nothing() -> None:
    pairs = (
        ("{{ ctx.x }}", "{{ not ctx.x }}"),
        ("{{ ctx.x > 3 }}", "{{ ctx.x <= 3 }}"),
        ("{{ ctx.x == 1 }}", "{{ ctx.x != 1 }}"),
        ("{{ ctx.x in ctx.y }}", "{{ ctx.x not in ctx.y }}"),
    )
    for one, other in pairs:
        assert found(LostToken, step("a", exclusive(Arc("end", one), Arc("end", other))), END) == []


def test_a_fallback_loses_nothing() -> None:
    assert found(LostToken, step("a", exclusive(Arc("end", "{{ ctx.x }}"), "end")), END) == []


def test_a_leaf_on_success_that_routes_its_failures_loses_nothing() -> None:
    assert found(LostToken, step("a", exclusive(Arc("end", FAILED))), END) == []
    assert found(LostToken, step("a", exclusive(Arc("end", FAILED)), tool=()), END) == []


def test_a_lone_conditional_arc_that_turns_back_is_a_loop_and_forward_it_may_lose_the_token() -> None:
    back = step("b", exclusive(Arc("a", "{{ ctx.more }}")))
    assert found(LostToken, step("a", exclusive("b")), back) == []
    onward = Arc("end", "{{ ctx.ready }}")
    a = step("a", exclusive(onward))
    assert found(LostToken, a, END) == [LostToken(a, (onward,), Certainty.MAY)]


def test_a_constant_false_arc_alone_loses_every_token() -> None:
    arc = Arc("end", False)
    a = step("a", exclusive(arc))
    assert found(LostToken, a, END) == [LostToken(a, (arc,), Certainty.MUST)]


def test_an_error_that_a_policy_lets_pass_may_find_no_arc() -> None:
    arc = Arc("end", "{{ output.status == 'ok' }}")
    lenient = (Task("t", "http", policy=Policy((rule("{{ output.error.retryable }}", Directive.RETRY),))),)
    a = step("a", exclusive(arc), lenient)
    assert found(LostToken, a, END) == [LostToken(a, (arc,), Certainty.MAY)]
    strict = (
        Task("t", "http", policy=Policy(lenient[0].policy.rules if lenient[0].policy else (), (), OnUnmatched.FAIL)),
    )
    assert found(LostToken, step("a", exclusive(Arc("end", "{{ output.status != 'ok' }}")), strict), END) == []


def test_a_skipped_last_task_leaves_the_status_of_an_earlier_one() -> None:
    arc = Arc("end", "{{ output.status == 'ok' }}")
    skipping = (
        task("t", rule("{{ output.status == 'error' }}", Directive.CONTINUE)),
        task("u", before=(otherwise(Directive.SKIP),)),
    )
    a = step("a", exclusive(arc), skipping)
    assert found(LostToken, a, END) == [LostToken(a, (arc,), Certainty.MAY)]
    dropped = (task("t", otherwise(Directive.SKIP)),)
    assert found(LostToken, step("a", exclusive(arc), dropped), END) != []
    clean = (Task("t", "http"), task("u", before=(otherwise(Directive.SKIP),)))
    assert found(LostToken, step("a", exclusive(arc), clean), END) == []


def test_a_best_effort_loop_promises_no_status() -> None:
    arcs = (Arc("end", "{{ output.status == 'ok' }}"), Arc("end", "{{ output.status == 'error' }}"))
    a = Step("a", tool=HTTP, loop=LOOP, failure=FailureMode.BEST_EFFORT, next=exclusive(*arcs))
    assert found(LostToken, a, END) == []
    assert found(NeverArc, a, END) == []


def test_steps_that_route_no_failure_are_named_together() -> None:
    a, b = step("a", exclusive("b")), step("b", loop=LOOP)
    quiet = step("c", tool=NOOP)
    assert found(UnroutedFailures, a, b, quiet) == [UnroutedFailures((a, b))]


def test_a_step_whose_failures_are_all_taken_is_not_named() -> None:
    guards = (
        FAILED,
        "{{ true }}",
        "{{ event.status == 'error' }}",
        "{{ output.status == 'error' }}",
        "{{ output.error }}",
    )
    for guard in guards:
        assert found(UnroutedFailures, step("a", exclusive(Arc("end", guard))), END) == []


def test_failures_taken_under_a_condition_are_a_finding_of_their_own() -> None:
    arc = Arc("end", "{{ event.name == 'step.failed' and output.error.kind == 'sql' }}")
    a = step("a", exclusive("end", arc))
    assert found(UnroutedFailure, a, END) == [UnroutedFailure(a, (arc,))]
    assert found(UnroutedFailures, a, END) == []


def test_a_step_that_no_arc_leads_to_is_unreachable_with_the_steps_that_might() -> None:
    a, b = step("a", exclusive(Arc("b", False), Arc("b", False), "missing")), step("b", exclusive("c", "b"))
    c, alone = step("c"), step("d", exclusive("d"))
    assert found(UnreachableStep, a, b, c, alone) == [
        UnreachableStep(b, (a,)),
        UnreachableStep(c, (b,)),
        UnreachableStep(alone, ()),
    ]


def test_a_step_that_admits_no_token_leads_nowhere() -> None:
    allow, deny = AdmitRule("{{ ctx.x }}", allow=True), AdmitRule(None, allow=False, is_else=True)
    never_in = (
        Admit(),
        Admit((deny,)),
        Admit((AdmitRule(False, allow=True),)),
        Admit((AdmitRule(True, allow=False), allow)),
    )
    for admit in never_in:
        gate = Step("gate", tool=HTTP, admit=admit, next=exclusive("end"))
        assert found(AdmissionNever, step("a", exclusive("gate")), gate, END) == [AdmissionNever(gate)]
        assert found(UnreachableStep, step("a", exclusive("gate")), gate, END) == [UnreachableStep(END, (gate,))]
    open_gate = Step("gate", admit=Admit((allow, deny)), next=exclusive("end"))
    assert found(AdmissionNever, step("a", exclusive("gate")), open_gate, END) == []


def test_admit_rules_can_be_shadowed() -> None:
    first, second = AdmitRule(True, allow=True), AdmitRule("{{ ctx.x }}", allow=False)
    gate = Step("a", admit=Admit((first, second)))
    assert found(ShadowedRule, gate) == [ShadowedRule(gate, None, second, (first,))]


def test_an_event_is_unknown_on_admission() -> None:
    one = AdmitRule("{{ event.name == 'step.done' }}", allow=True)
    two = AdmitRule("{{ event.name == 'step.done' and event.name == 'loop.done' }}", allow=True)
    findings = analyse(playbook(Step("a", admit=Admit((one, two)))))
    assert [type(finding).__name__ for finding in findings] == ["NeverRule"]


def test_more_conditions_than_fit_are_left_open() -> None:
    many = " and ".join(f"ctx.c{number}" for number in range(12))
    arcs = (
        Arc("end", f"{{{{ {many} }}}}"),
        Arc("end", f"{{{{ {many} }}}}"),
        Arc("end", f"{{{{ not ({many}) }}}}"),
        Arc("end", True),
    )
    a = step("a", exclusive(*arcs))
    assert found(ShadowedArc, a, END) == []
    wide = " or ".join(f"ctx.c{number}" for number in range(12))
    assert found(NeverArc, step("a", exclusive(Arc("end", f"{{{{ false and ({wide}) }}}}"))), END) != []


def test_an_empty_playbook_and_a_missing_entry_have_no_net() -> None:
    assert analyse(playbook(entry="none")) == []
    lost = step("a")
    assert analyse(playbook(lost, entry="b")) == [UnreachableStep(lost, ())]


def test_of_two_steps_with_one_name_the_first_is_meant() -> None:
    twin = step("b")
    assert found(UnreachableStep, step("a", exclusive("b")), step("b"), twin) == [UnreachableStep(twin, ())]
