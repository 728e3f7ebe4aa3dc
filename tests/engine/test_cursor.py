"""How facts move a cursor, one fact at a time."""

import pytest

from noetl.engine.calls import turn_output
from noetl.engine.cursor import Cursor, Frame, Turn, apply, iteration_scope, start
from noetl.engine.events import (
    BlockLoop,
    Call,
    IterationDone,
    IterationStarted,
    Patch,
    TaskDone,
    TaskStarted,
    TaskWaiting,
)
from noetl.engine.output import NOTHING, Output, failed
from noetl.playbook.model import Dialect, Directive

BODY = Output(data={"rows": 2}, blocks={"http": {"status": 200, "headers": {}}})
RUN = "s#1.get/1"


def started(task: str = "get", attempt: int = 1, number: int = 1) -> TaskStarted:
    return TaskStarted("s#1", (), f"s#1.{task}/{number}", task, attempt, f"s#1.{task}/1")


def done(
    output: Output = NOTHING,
    directive: Directive = Directive.CONTINUE,
    next_: int | None = 1,
    task: str = "get",
    *,
    ran: bool = True,
    due_at: float | None = None,
) -> TaskDone:
    return TaskDone("s#1", (), f"s#1.{task}/1", task, int(ran), output, directive, next_, ran=ran, due_at=due_at)


def after(
    *facts: TaskStarted | TaskDone | TaskWaiting, kind: str = "http", dialect: Dialect = Dialect.CANONICAL
) -> Frame:
    cursor = start({})
    for fact in facts:
        cursor = apply(cursor, fact, dialect, kind)
    assert isinstance(cursor.top, Frame)
    return cursor.top


def test_a_visit_that_never_runs_counts_so_that_no_id_comes_twice() -> None:
    skipped = done(directive=Directive.SKIP, ran=False)
    assert after(skipped).runs == {"get": 1}
    assert after(skipped, skipped).runs == {"get": 2}
    assert after(started(), done()).runs == {"get": 1}


def test_a_visit_that_never_runs_is_paid_from_the_budget() -> None:
    cursor = apply(start({}), done(directive=Directive.SKIP, ran=False), Dialect.CANONICAL, "http")
    assert cursor.task_runs == 1
    assert apply(apply(start({}), started(), Dialect.CANONICAL, ""), done(), Dialect.CANONICAL, "http").task_runs == 1


@pytest.mark.parametrize(
    ("dialect", "prev"),
    [
        (Dialect.CANONICAL, {"rows": 2}),
        (Dialect.V10, {"data": {"rows": 2}, "status_code": 200, "headers": {}}),
    ],
)
def test_what_came_before_is_the_body_and_in_v10_what_stands_around_it_too(dialect: Dialect, prev: object) -> None:
    assert after(started(), done(BODY), dialect=dialect).prev == prev


def test_a_dropped_output_changes_neither_what_came_before_nor_its_kind() -> None:
    ran = apply(apply(start({}), started(), Dialect.CANONICAL, ""), done(BODY), Dialect.CANONICAL, "http")
    for fact in (done(NOTHING, Directive.SKIP, 2, "wait"), done(NOTHING, Directive.SKIP, 2, "wait", ran=False)):
        frame = apply(ran, fact, Dialect.CANONICAL, "noop").top
        assert isinstance(frame, Frame)
        assert (frame.prev, frame.output, frame.output_kind) == ({"rows": 2}, BODY, "http")
        assert set(frame.outputs) == {"get"}


def test_the_output_of_a_pipeline_is_that_of_its_last_task_run() -> None:
    ran = apply(apply(start({}), started(), Dialect.CANONICAL, ""), done(BODY), Dialect.CANONICAL, "http")
    broken_off = apply(ran, done(NOTHING, Directive.BREAK, None, "stop", ran=False), Dialect.CANONICAL, "noop").top
    assert isinstance(broken_off, Frame)
    assert broken_off.end == BODY
    assert not broken_off.is_failed
    assert after(done(NOTHING, Directive.BREAK, None, ran=False)).end == NOTHING


def test_a_failure_is_the_output_even_of_a_task_that_never_ran() -> None:
    refusal = failed("budget_exceeded", "too many")
    ran = apply(apply(start({}), started(), Dialect.CANONICAL, ""), done(BODY), Dialect.CANONICAL, "http")
    frame = apply(ran, done(refusal, Directive.FAIL, None, "stop", ran=False), Dialect.CANONICAL, "noop").top
    assert isinstance(frame, Frame)
    assert (frame.end, frame.is_failed) == (refusal, True)


def test_an_error_and_a_noop_leave_what_came_before_as_it_was() -> None:
    ran = apply(apply(start({}), started(), Dialect.CANONICAL, ""), done(BODY), Dialect.CANONICAL, "http")
    for output, kind in ((failed("connect", "no"), "http"), (Output(data=3), "noop")):
        frame = apply(
            apply(ran, started("more"), Dialect.CANONICAL, ""), done(output, task="more"), Dialect.CANONICAL, kind
        ).top
        assert isinstance(frame, Frame)
        assert frame.prev == {"rows": 2}
        assert frame.output == output


def test_a_retry_keeps_the_attempt_and_another_visit_begins_anew() -> None:
    again = after(started(), done(failed("connect", "no"), Directive.RETRY, 0, due_at=7.0))
    assert (again.pc, again.attempt, again.visit, again.not_before, again.is_running) == (0, 1, 1, 7.0, False)
    second = after(started(), done(failed("connect", "no"), Directive.RETRY, 0), started(attempt=2, number=2))
    assert (second.attempt, second.visit, second.runs, second.is_running) == (2, 1, {"get": 2}, True)
    anew = after(started(), done(BODY, Directive.JUMP, 0), started(number=2))
    assert (anew.attempt, anew.visit, anew.runs) == (1, 2, {"get": 2})


def test_a_wait_is_known_by_the_run_that_waits_until_it_is_over() -> None:
    retried = (started(), done(failed("connect", "no"), Directive.RETRY, 0, due_at=7.0))
    waits = after(*retried, TaskWaiting("s#1", (), "s#1.get/2", due_at=7.0))
    assert (waits.wait, waits.not_before, waits.arrived) == ("s#1.get/2", 7.0, None)
    over = after(
        *retried,
        TaskWaiting("s#1", (), "s#1.get/2", due_at=7.0),
        TaskWaiting("s#1", (), "s#1.get/2", is_over=True, output=BODY),
    )
    assert (over.wait, over.not_before, over.arrived) == ("", None, BODY)


def test_a_wait_inside_a_block_leaves_its_caller_in_place() -> None:
    called = apply(start({}), TaskStarted("s#1", (), RUN, "get", 1, RUN, Call("block")), Dialect.CANONICAL, "")
    waits = apply(called, TaskWaiting("s#1", (), f"{RUN}.inner/1", due_at=7.0), Dialect.CANONICAL, "")
    assert waits.frames[0] == called.frames[0]
    assert [frame.call for frame in waits.frames] == ["", RUN]
    assert isinstance(waits.top, Frame)
    assert waits.top.wait == f"{RUN}.inner/1"


def test_patches_of_a_run_reach_every_scope_and_change_no_earlier_cursor() -> None:
    before = start({"kept": 1})
    patch = Patch(ctx={"a": 1}, step={"b.c": 2}, iter={"d": 3})
    fact = TaskDone("s#1", (), RUN, "get", 1, BODY, Directive.CONTINUE, 1, patch)
    cursor = apply(apply(before, started(), Dialect.CANONICAL, ""), fact, Dialect.CANONICAL, "http")
    frame = cursor.top
    assert isinstance(frame, Frame)
    assert (cursor.ctx, frame.step, frame.iter) == ({"a": 1}, {"kept": 1, "b": {"c": 2}}, {"d": 3})
    assert before == Cursor((Frame(step={"kept": 1}),))


def test_what_a_looped_block_has_gathered_is_kept_in_few_chunks_and_in_order() -> None:
    cursor = Cursor((Frame(), Turn("b", "c", (), 0, BlockLoop("n", [0] * 1_000), {}, None)))
    for index in range(1_000):
        inside = apply(cursor, IterationStarted("s#1", (), "c", turn=(index,)), Dialect.CANONICAL, "")
        ended = IterationDone("s#1", (), Output(data=index), call="c", turn=(index,))
        cursor = apply(inside, ended, Dialect.CANONICAL, "")
    turn = cursor.top
    assert isinstance(turn, Turn)
    assert [len(chunk) for chunk in turn.data] == [512, 256, 128, 64, 32, 8]
    assert turn_output(turn).data == list(range(1_000))


def test_iter_has_a_parent_only_inside_another_loop() -> None:
    outer = iteration_scope("city", "Rome", 0, 3, None)
    assert outer == {"city": "Rome", "index": 0, "count": 3}
    assert iteration_scope("hotel", "h", 1, 2, outer) == {"hotel": "h", "index": 1, "count": 2, "parent": outer}
