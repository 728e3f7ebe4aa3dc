"""The analysis against an explicit simulator that tries every event and every value of the guards' names."""

from collections.abc import Callable, Iterator
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from noetl.expressions.template import parse
from noetl.playbook.model import Arc, Directive, Guard, Playbook, Policy, RouteMode, Router, Rule, Step, Task, Then
from noetl.playbook.net import NetFinding, analyse
from noetl.playbook.net.findings import (
    Certainty,
    EndlessCycle,
    JumpCycle,
    LoopDoneWithoutLoop,
    LostToken,
    MeetWithoutJoin,
    NeverArc,
    NeverRule,
    ShadowedArc,
    ShadowedRule,
    StepDoneOnLoop,
    TasksNeverReached,
    UnreachableStep,
    UnroutedFailure,
    UnroutedFailures,
)
from tests.playbook.net.building import HTTP, LOOP, playbook

GUARDS: tuple[Guard, ...] = (
    None,
    True,
    False,
    "{{ true }}",
    "{{ ctx.a }}",
    "{{ not ctx.a }}",
    "{{ ctx.b }}",
    "{{ ctx.a and ctx.b }}",
    "{{ ctx.k == 'x' }}",
    "{{ ctx.k == 'y' }}",
    "{{ ctx.k != 'x' }}",
    "{{ 'x' == ctx.k or ctx.a }}",
    "{{ ctx.m is defined }}",
    "{{ ctx.m is not defined }}",
    "{{ output.status == 'ok' }}",
    "{{ output.status != 'ok' }}",
    "{{ output.error }}",
    "{{ output.error.retryable }}",
    "{{ output.error.kind == 'timeout' }}",
)
ARC_GUARDS: tuple[Guard, ...] = (
    *GUARDS,
    "{{ event.name == 'step.failed' }}",
    "{{ event.name == 'step.done' }}",
    "{{ event.name == 'loop.done' }}",
    "{{ event.name in ['step.done', 'loop.done'] }}",
    "{{ event.name not in ['step.failed'] }}",
    "{{ event.status == 'error' and ctx.a }}",
    "{{ ctx.a if event.name == 'step.done' else ctx.b }}",
)
NAMES = ("s0", "s1", "s2", "s3", "s4")
Scope = dict[str, object]


def contexts() -> Iterator[dict[str, object]]:
    for a, b, k, m in product((True, False), (True, False), ("x", "y", "z", None), (1, None)):
        yield {"a": a, "b": b, **({} if k is None else {"k": k}), **({} if m is None else {"m": m})}


def outputs(status: str) -> Iterator[dict[str, object]]:
    if status == "ok":
        yield {"status": "ok", "error": None}
        return
    for retryable, kind in product((True, False), ("timeout", "sql")):
        yield {"status": "error", "error": {"retryable": retryable, "kind": kind}}


def holds(guard: Guard, scope: Scope) -> bool:
    if guard is None or isinstance(guard, bool):
        return guard is not False
    return parse(guard).test(scope)


class Ended:
    """One way in which a step run can end, and the arcs that are then taken."""

    def __init__(self, step: Step, event: str, scope: Scope, is_odd: bool) -> None:
        self.is_success = event != "step.failed"
        self.is_odd = is_odd
        true = [
            index
            for index, arc in enumerate(step.next.arcs)
            if (self.is_success if arc.when is None else holds(arc.when, scope))
        ]
        self.taken = true[:1] if step.next.mode is RouteMode.EXCLUSIVE else true


def endings(step: Step) -> list[Ended]:
    """Odd are those that take an undefined name, or a failed loop whose output is ok."""
    events = [("loop.done" if step.loop else "step.done", "ok")]
    if step.loop or step.tool:
        events.append(("step.failed", "error"))
    if step.loop:
        events.append(("step.failed", "ok"))
    found = []
    for event, status in events:
        for ctx, output in product(contexts(), outputs(status)):
            known = {"name": event, "status": "error" if event == "step.failed" else "success"}
            is_odd = "k" not in ctx or (event, status) == ("step.failed", "ok")
            found.append(Ended(step, event, {"ctx": ctx, "output": output, "event": known}, is_odd))
    return found


@st.composite
def nets(draw: st.DrawFn) -> Playbook:
    names = NAMES[: draw(st.integers(1, 5))]
    steps = []
    for name in names:
        arcs = draw(st.lists(st.builds(Arc, st.sampled_from(names), st.sampled_from(ARC_GUARDS)), max_size=4))
        router = Router(draw(st.sampled_from(RouteMode)), tuple(arcs))
        tool, loop = draw(st.sampled_from(((HTTP, None), (HTTP, LOOP), ((), None))))
        steps.append(Step(name, tool=tool, loop=loop, next=router))
    return playbook(*steps)


def targets(step: Step, ended: Ended) -> list[str]:
    return [step.next.arcs[index].step for index in ended.taken]


def reached(book: Playbook) -> set[str]:
    steps = {step.name: step for step in book.workflow}
    seen, waiting = {book.entry_step}, [book.entry_step]
    while waiting:
        step = steps[waiting.pop()]
        for name in {name for ended in endings(step) for name in targets(step, ended)} - seen:
            seen.add(name)
            waiting.append(name)
    return seen


def able_to_end(book: Playbook, counts: Callable[[Ended], bool]) -> set[str]:
    """The steps from which every token can come to an end, if only the endings that count happen."""
    able: set[str] = set()
    while True:
        more = {
            step.name
            for step in book.workflow
            if any(counts(ended) and set(targets(step, ended)) <= able for ended in endings(step))
        }
        if more <= able:
            return able
        able |= more


def of(findings: list[NetFinding], *kinds: type[NetFinding]) -> list[NetFinding]:
    return [finding for finding in findings if isinstance(finding, kinds)]


@settings(max_examples=100, deadline=None)
@given(nets())
def test_exactly_the_steps_that_no_run_reaches_are_unreachable(book: Playbook) -> None:
    findings = [each.step.name for each in analyse(book) if isinstance(each, UnreachableStep)]
    assert set(findings) == {step.name for step in book.workflow} - reached(book)


@settings(max_examples=100, deadline=None)
@given(nets())
def test_exactly_the_arcs_that_no_ending_takes_are_reported(book: Playbook) -> None:
    reported = {
        id(each.arc)
        for each in analyse(book)
        if isinstance(each, NeverArc | ShadowedArc | StepDoneOnLoop | LoopDoneWithoutLoop)
        and each.certainty is Certainty.MUST
    }
    for step in book.workflow:
        taken = {index for ended in endings(step) for index in ended.taken}
        silent = {id(arc) for index, arc in enumerate(step.next.arcs) if index not in taken}
        assert silent == {id(arc) for arc in step.next.arcs if id(arc) in reported}


@settings(max_examples=100, deadline=None)
@given(nets())
def test_a_token_is_lost_where_the_simulator_loses_it(book: Playbook) -> None:
    for finding in analyse(book):
        if isinstance(finding, LostToken):
            losses = [not ended.taken for ended in endings(finding.step) if ended.is_success]
            assert all(losses) if finding.certainty is Certainty.MUST else any(losses)


@settings(max_examples=100, deadline=None)
@given(nets())
def test_a_cycle_without_exit_is_found_exactly_where_no_success_ends_a_token(book: Playbook) -> None:
    cycles = [each for each in analyse(book) if isinstance(each, EndlessCycle)]
    trapped = reached(book) - able_to_end(book, lambda ended: ended.is_success)
    assert {step.name for cycle in cycles for step in cycle.steps} <= trapped
    assert bool(cycles) == bool(trapped)


@settings(max_examples=100, deadline=None)
@given(nets())
def test_a_cycle_that_must_be_endless_ends_by_no_failure_that_an_arc_takes(book: Playbook) -> None:
    able = able_to_end(book, lambda ended: ended.is_success or bool(ended.taken))
    for finding in analyse(book):
        if isinstance(finding, EndlessCycle) and finding.certainty is Certainty.MUST:
            assert not able & {step.name for step in finding.steps}


@settings(max_examples=100, deadline=None)
@given(nets())
def test_failures_are_reported_exactly_where_one_finds_no_arc(book: Playbook) -> None:
    findings = analyse(book)
    silent = {step.name for each in findings if isinstance(each, UnroutedFailures) for step in each.steps}
    partial = {each.step.name for each in findings if isinstance(each, UnroutedFailure)}
    assert not silent & partial
    assert silent | partial <= _steps_with_an_untaken_failure(book, include_odd=True)
    assert _steps_with_an_untaken_failure(book, include_odd=False) <= silent | partial


def _steps_with_an_untaken_failure(book: Playbook, include_odd: bool) -> set[str]:
    come = reached(book)
    return {
        step.name
        for step in book.workflow
        if step.name in come
        and any(
            not ended.is_success and not ended.taken and (include_odd or not ended.is_odd) for ended in endings(step)
        )
    }


@settings(max_examples=100, deadline=None)
@given(nets())
def test_branches_that_meet_can_be_taken_together_and_lead_there(book: Playbook) -> None:
    for finding in analyse(book):
        if isinstance(finding, MeetWithoutJoin):
            indexes = [
                next(index for index, arc in enumerate(finding.fan_out.next.arcs) if arc is each)
                for each in finding.arcs
            ]
            assert indexes[0] != indexes[1]
            assert any(set(indexes) <= set(ended.taken) for ended in endings(finding.fan_out) if ended.is_success)
            for arc in finding.arcs:
                start = playbook(*book.workflow, entry=arc.step)
                assert finding.meeting.name in reached(start)


DIRECTIVES = tuple(Directive)
TASKS = ("t0", "t1", "t2", "t3")


@st.composite
def rules(draw: st.DrawFn, names: tuple[str, ...], is_before: bool) -> Rule:
    do = draw(st.sampled_from([each for each in DIRECTIVES if not is_before or each is not Directive.RETRY]))
    is_else = draw(st.sampled_from((False, False, False, True)))
    when = None if is_else else draw(st.sampled_from(GUARDS[1:]))
    return Rule(when, Then(do, to=draw(st.sampled_from(names)) if do is Directive.JUMP else None), is_else)


@st.composite
def pipelines(draw: st.DrawFn) -> Step:
    names = TASKS[: draw(st.integers(1, 4))]
    tool = []
    for name in names:
        policy = None
        if draw(st.booleans()):
            after = draw(st.lists(rules(names, False), min_size=1, max_size=3))
            before = draw(st.lists(rules(names, True), max_size=2))
            policy = Policy(tuple(after), tuple(before))
        tool.append(Task(name, "http", policy=policy))
    return Step("only", tool=tuple(tool))


def first(options: tuple[Rule, ...], scope: Scope) -> Rule | None:
    return next((rule for rule in options if rule.is_else or holds(rule.when, scope)), None)


def moves(step: Step, index: int, statuses: tuple[str, ...]) -> Iterator[tuple[str, int | str]]:
    """Where a visit of a task can lead, with the status: another task's index, `end` or `failed`."""
    task = step.tool[index]
    for status in statuses:
        for ctx, output in product(contexts(), outputs(status)):
            # What `before` sees and what the rules see are different moments: the values need not agree.
            for earlier, old in product(contexts(), (*outputs("ok"), *outputs("error"))):
                rule = first(task.policy.before, {"ctx": earlier, "output": old}) if task.policy else None
                if rule is not None and rule.then.do is not Directive.CONTINUE:
                    yield status, _move(step, index, rule)
                else:
                    yield status, _after(step, index, {"ctx": ctx, "output": output}, status)
                if task.policy is None or not task.policy.before:
                    break


def _after(step: Step, index: int, scope: Scope, status: str) -> int | str:
    policy = step.tool[index].policy
    if policy is None:
        return _next(step, index) if status == "ok" else "failed"
    rule = first(policy.rules, scope)
    return _next(step, index) if rule is None else _move(step, index, rule)


def _next(step: Step, index: int) -> int | str:
    return index + 1 if index + 1 < len(step.tool) else "end"


def _move(step: Step, index: int, rule: Rule) -> int | str:
    match rule.then.do:
        case Directive.CONTINUE | Directive.SKIP:
            return _next(step, index)
        case Directive.RETRY:
            return index
        case Directive.JUMP:
            return TASKS.index(rule.then.to or "")
        case Directive.BREAK:
            return "end"
        case Directive.FAIL:
            return "failed"


@settings(max_examples=60, deadline=None)
@given(pipelines())
def test_exactly_the_tasks_that_no_run_reaches_are_reported(step: Step) -> None:
    seen, waiting = {0}, [0]
    while waiting:
        for _, target in set(moves(step, waiting.pop(), ("ok", "error"))):
            if isinstance(target, int) and target not in seen:
                seen.add(target)
                waiting.append(target)
    unreached = {step.tool[index].name for index in range(len(step.tool)) if index not in seen}
    findings = [each for each in analyse(playbook(step)) if isinstance(each, TasksNeverReached)]
    assert {task.name for each in findings for task in each.tasks} == unreached


@settings(max_examples=60, deadline=None)
@given(pipelines())
def test_no_success_ends_a_cycle_of_jumps_that_is_reported(step: Step) -> None:
    findings = [each for each in analyse(playbook(step)) if isinstance(each, JumpCycle)]
    for finding in findings:
        statuses = ("ok", "error") if finding.certainty is Certainty.MUST else ("ok",)
        for task in finding.cycle:
            seen: set[int | str] = set()
            waiting: list[int] = [step.tool.index(task)]
            while waiting:
                for status, target in set(moves(step, waiting.pop(), statuses)):
                    assert target != "end"
                    assert target != "failed" or status == "error"
                    if isinstance(target, int) and target not in seen:
                        seen.add(target)
                        waiting.append(target)


@settings(max_examples=60, deadline=None)
@given(pipelines())
def test_a_rule_that_is_reported_never_matches_first(step: Step) -> None:
    findings = of(analyse(playbook(step)), NeverRule, ShadowedRule)
    reported = {id(each.rule) for each in findings if isinstance(each, NeverRule | ShadowedRule)}
    for task in step.tool:
        for options in (task.policy.rules, task.policy.before) if task.policy else ():
            matched = {
                id(first(options, {"ctx": ctx, "output": output}))
                for ctx in contexts()
                for status in ("ok", "error")
                for output in outputs(status)
            }
            assert not reported & matched
