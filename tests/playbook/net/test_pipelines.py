import pytest

from noetl.playbook.model import Backoff, Block, Directive, OnUnmatched, Playbook, Policy, Rule, Step, Task, Then
from noetl.playbook.net import analyse
from noetl.playbook.net.findings import (
    Bound,
    BoundKind,
    Certainty,
    JumpCycle,
    NetFinding,
    NeverReason,
    NeverRule,
    ShadowedRule,
    TasksNeverReached,
    WorstCase,
)
from noetl.playbook.sugar import repeat_until, repeat_while
from tests.playbook.net.building import LOOP, found, otherwise, playbook, rule, step, task

IS_ERROR = "{{ output.status == 'error' }}"
LAST = Task("last", "http")


def in_tool(kind: type[NetFinding], *tasks: Task) -> list[NetFinding]:
    return found(kind, step("only", tool=tasks))


def test_a_rule_behind_one_that_matches_always_is_shadowed() -> None:
    first, second = rule(True, Directive.CONTINUE), rule(IS_ERROR, Directive.FAIL)
    t = task("t", first, second)
    assert in_tool(ShadowedRule, t) == [ShadowedRule(step("only", tool=(t,)), t, second, (first,))]


def test_a_rule_can_be_shadowed_by_ok_and_error_together_but_an_else_is_prudence() -> None:
    rules = (rule(IS_ERROR, Directive.FAIL), rule("{{ output.status == 'ok' }}", Directive.CONTINUE))
    t = task("t", *rules, rule("{{ ctx.x }}", Directive.BREAK))
    [finding] = in_tool(ShadowedRule, t)
    assert isinstance(finding, ShadowedRule)
    assert finding.by == rules
    assert in_tool(ShadowedRule, task("t", *rules, otherwise(Directive.FAIL))) == []


def test_an_else_behind_an_unconditional_rule_is_shadowed() -> None:
    assert len(in_tool(ShadowedRule, task("t", rule(True, Directive.CONTINUE), otherwise(Directive.FAIL)))) == 1


def test_rules_before_the_tool_are_looked_at_too() -> None:
    t = task("t", before=(rule(True, Directive.SKIP), rule("{{ ctx.x }}", Directive.FAIL)))
    assert len(in_tool(ShadowedRule, t)) == 1


def test_a_rule_that_is_never_true_is_reported_with_the_reason() -> None:
    rules = (rule(False, Directive.FAIL), rule("{{ output.status == 'success' }}", Directive.CONTINUE))
    findings = in_tool(NeverRule, task("t", *rules))
    assert [each.reason for each in findings if isinstance(each, NeverRule)] == [
        NeverReason.CONSTANT,
        NeverReason.CONTRADICTION,
    ]


def test_tasks_behind_a_certain_break_are_never_reached() -> None:
    first = task("first", otherwise(Directive.BREAK))
    owner = step("only", tool=(first, LAST))
    assert found(TasksNeverReached, owner) == [TasksNeverReached(owner, (LAST,))]


def test_a_task_that_a_jump_leads_to_is_reached() -> None:
    jump = task("first", otherwise(Directive.JUMP, "last"))
    skipped = Task("skipped", "http")
    owner = step("only", tool=(jump, skipped, LAST))
    assert found(TasksNeverReached, owner) == [TasksNeverReached(owner, (skipped,))]


def test_a_jump_to_nowhere_fails() -> None:
    owner = step("only", tool=(task("first", otherwise(Directive.JUMP, "nowhere")), LAST))
    assert found(TasksNeverReached, owner) == [TasksNeverReached(owner, (LAST,))]


def test_no_match_fails_where_the_policy_says_so() -> None:
    strict = Task("first", "http", policy=Policy((rule(False, Directive.BREAK),), (), OnUnmatched.FAIL))
    owner = step("only", tool=(strict, LAST))
    assert found(TasksNeverReached, owner) == [TasksNeverReached(owner, (LAST,))]


def test_jumps_that_no_success_leaves_must_go_on() -> None:
    jump = otherwise(Directive.JUMP, "first")
    tasks = (Task("first", "http"), task("second", rule(IS_ERROR, Directive.FAIL), jump))
    owner = step("only", tool=tasks)
    assert found(JumpCycle, owner) == [JumpCycle(owner, tasks[1], jump, tasks, Certainty.MUST)]


def test_an_error_that_a_rule_takes_out_makes_it_a_maybe() -> None:
    jump = otherwise(Directive.JUMP, "first")
    t = task("first", rule(IS_ERROR, Directive.BREAK), jump)
    owner = step("only", tool=(t,))
    assert found(JumpCycle, owner) == [JumpCycle(owner, t, jump, (t,), Certainty.MAY)]


def test_a_conditional_jump_has_an_exit() -> None:
    assert in_tool(JumpCycle, task("first", rule("{{ ctx.more }}", Directive.JUMP, "first"))) == []


def test_a_rule_that_fails_on_success_is_an_exit() -> None:
    t = task("first", rule("{{ ctx.bad }}", Directive.FAIL), otherwise(Directive.JUMP, "first"))
    assert in_tool(JumpCycle, t) == []


def test_a_retry_for_ever_is_ended_by_its_attempts() -> None:
    again = task("first", otherwise(Directive.JUMP, "second"))
    stuck = task("second", rule("{{ ctx.x }}", Directive.JUMP, "first"), otherwise(Directive.RETRY))
    assert len(in_tool(JumpCycle, again, stuck)) == 1
    alone = (task("first", rule("{{ ctx.x }}", Directive.JUMP, "first")), task("second", otherwise(Directive.RETRY)))
    assert in_tool(JumpCycle, *alone) == []


def test_a_jump_before_the_tool_counts_as_well() -> None:
    t = task("first", before=(otherwise(Directive.JUMP, "first"),))
    [finding] = in_tool(JumpCycle, t)
    assert isinstance(finding, JumpCycle)
    assert finding.certainty is Certainty.MUST


def test_going_on_before_the_tool_means_running_it() -> None:
    t = task("first", otherwise(Directive.BREAK), before=(otherwise(Directive.CONTINUE),))
    assert len(in_tool(TasksNeverReached, t, LAST)) == 1


def test_a_block_of_the_workbook_is_a_pipeline_like_any_other() -> None:
    block = Block(
        "shared", tool=(task("first", otherwise(Directive.BREAK)), LAST, task("r", otherwise(Directive.RETRY)))
    )
    plain = Block("plain", tool=(task("r", otherwise(Directive.RETRY)),))
    head = playbook(step("a"))
    book = Playbook(head.metadata, head.dialect, "a", head.workflow, workbook={"shared": block, "plain": plain})
    findings = [each for each in analyse(book) if isinstance(each, TasksNeverReached | WorstCase)]
    assert [each.owner for each in findings] == [block, plain]


def retry(attempts: int = 3, backoff: Backoff = Backoff.NONE, delay: float | str = 1.0, **more: float) -> Rule:
    return Rule(IS_ERROR, Then(Directive.RETRY, attempts, backoff, delay, more.get("max_delay"), more.get("jitter")))


def cost(*tasks: Task) -> WorstCase:
    [finding] = in_tool(WorstCase, *tasks)
    assert isinstance(finding, WorstCase)
    return finding


def waits(*rules: Rule) -> float:
    bound = cost(task("t", *rules)).wait_s
    assert bound.kind is BoundKind.AT_MOST
    return bound.value


def test_waiting_follows_the_backoff() -> None:
    assert waits(retry(4, Backoff.NONE, 2)) == 2 + 2 + 2
    assert waits(retry(4, Backoff.FIXED, 2)) == 2 + 2 + 2
    assert waits(retry(4, Backoff.LINEAR, 2)) == 2 + 4 + 6
    assert waits(retry(5, Backoff.EXPONENTIAL, 2)) == 2 + 4 + 8 + 16
    assert waits(retry(5, Backoff.EXPONENTIAL, 2, max_delay=5)) == 2 + 4 + 5 + 5
    assert waits(retry(3, jitter=0.5)) == 1.5 + 1.5
    assert waits(retry(1)) == 0
    assert waits(retry(3, delay="{{ 2 * 2 }}")) == 8


def test_of_several_retry_rules_the_longest_wait_counts_each_time() -> None:
    other = Rule("{{ ctx.x }}", Then(Directive.RETRY, 2, delay=10.0))
    assert waits(other, retry(4)) == 10 + 1 + 1


def test_a_delay_from_data_is_unknown() -> None:
    for delay in ("{{ ctx.delay }}", "{{ true }}"):
        assert cost(task("t", retry(delay=delay))).wait_s == Bound(BoundKind.UNKNOWN)


def test_many_attempts_take_no_time_to_add_up() -> None:
    assert waits(retry(1_000_001, Backoff.FIXED, 2)) == 2_000_000
    assert cost(task("t", retry(5_000, Backoff.EXPONENTIAL))).wait_s == Bound(BoundKind.UNBOUNDED)


def test_runs_add_up_along_the_heaviest_way() -> None:
    tasks = (task("a", retry(5)), task("b", rule("{{ ctx.x }}", Directive.BREAK), retry(4)), Task("c", "http"))
    worst = cost(*tasks)
    assert (worst.task, worst.attempts) == (tasks[0], 5)
    assert worst.task_runs == Bound(BoundKind.AT_MOST, 5 + 4 + 1)
    assert worst.wait_s == Bound(BoundKind.AT_MOST, 4 + 3)
    assert not worst.per_iteration


def test_a_loop_pays_for_each_iteration() -> None:
    [finding] = found(WorstCase, step("a", tool=(task("t", retry()),), loop=LOOP))
    assert isinstance(finding, WorstCase)
    assert finding.per_iteration


def test_jumps_back_have_no_bound() -> None:
    pages = task("page", rule("{{ ctx.more }}", Directive.JUMP, "page"))
    worst = cost(pages)
    assert (worst.task, worst.attempts) == (pages, 1)
    assert worst.task_runs == Bound(BoundKind.UNBOUNDED)
    assert worst.wait_s == Bound(BoundKind.AT_MOST, 0)
    waiting = task("page", retry(), rule("{{ ctx.more }}", Directive.JUMP, "page"))
    assert cost(waiting).wait_s == Bound(BoundKind.UNBOUNDED)


MORE = "{{ ctx.more }}"


def test_a_repetition_with_a_bound_runs_its_rounds_at_most() -> None:
    body = (Task("a", "http"), task("b", retry(3)))
    # `while`: its test runs once more than its rounds, each of which has a task that counts.
    worst = cost(*repeat_while("w", MORE, body, 50), LAST)
    assert worst.task_runs == Bound(BoundKind.AT_MOST, 51 + 50 * (1 + 1 + 3) + 1)
    assert worst.wait_s == Bound(BoundKind.AT_MOST, 50 * 2)
    assert worst.repeats
    worst = cost(*repeat_until("u", MORE, body, 50), LAST)
    assert worst.task_runs == Bound(BoundKind.AT_MOST, 50 * (1 + 1 + 3) + 1)


def test_a_repetition_within_another_is_bounded_in_each_round() -> None:
    inner = repeat_until("inner", MORE, [Task("a", "http")], 3)
    worst = cost(*repeat_until("outer", MORE, [*inner, Task("b", "http")], 5))
    assert worst.task_runs == Bound(BoundKind.AT_MOST, 5 * (1 + 3 * (1 + 1) + 1))
    unbounded = repeat_until("inner", MORE, [Task("a", "http")], None)
    assert cost(*repeat_until("outer", MORE, unbounded, 5)).task_runs == Bound(BoundKind.UNBOUNDED)


def test_a_repetition_that_begins_anew_has_no_bound() -> None:
    tasks = (*repeat_until("u", MORE, [Task("a", "http")], 3), task("again", rule(MORE, Directive.JUMP, "u_enter")))
    assert cost(*tasks).task_runs == Bound(BoundKind.UNBOUNDED)


@pytest.mark.parametrize("said", ["3 rounds", "away"])
def test_a_task_that_only_looks_like_a_counter_bounds_nothing(said: str) -> None:
    looks = Task("x_round", "noop", desc=f"`x` has run {said}")
    tasks = (looks, task("again", rule(MORE, Directive.JUMP, "x_round")))
    assert cost(*tasks).task_runs == Bound(BoundKind.UNBOUNDED)


def test_a_jump_back_to_a_task_that_leads_on_is_no_circle() -> None:
    tasks = (
        task("a", otherwise(Directive.JUMP, "c")),
        task("b", otherwise(Directive.BREAK)),
        task("c", otherwise(Directive.JUMP, "b")),
    )
    assert in_tool(WorstCase, *tasks) == []


def test_nothing_is_said_where_nothing_runs_again() -> None:
    assert in_tool(WorstCase, Task("t", "http")) == []
    assert found(WorstCase, Step("empty")) == []
