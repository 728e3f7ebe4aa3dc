"""The append-only log: gapless, whole or not at all, and nobody loses by another's loss."""

from noetl.engine.commands import Continue, EndWait
from noetl.engine.effects import CancelChild, ClearTimers, EndAll, SetTimer, StartChild, TellParent
from noetl.engine.events import Parent
from noetl.engine.output import Output
from noetl.engine.reference import External, Reference
from noetl.ports import Append, Appended, Conflict, Fenced, Summary
from tests.conformance.given import E, append, ask, claimed, deadline, loop, progress, summary, task, wait_timer
from tests.conformance.homes import Home

# ------------------------------------------------------------------------------ events


async def test_a_log_that_nobody_wrote_ends_with_zero_and_is_empty(home: Home) -> None:
    async with home.store() as store:
        assert await store.head(E) == 0
        assert list(await store.read(E, 0, 10)) == []


async def test_events_are_numbered_without_gaps_over_appends_and_read_back_as_they_were(home: Home) -> None:
    async with home.store() as store:
        await append(store, events=[b"1", b'{"2": "\xc3\xa9"}'])
        await append(store, events=[b"3"])
        assert await store.head(E) == 3
        assert list(await store.read(E, 0, 10)) == [b"1", b'{"2": "\xc3\xa9"}', b"3"]


async def test_a_log_is_read_by_pages(home: Home) -> None:
    async with home.store() as store:
        await append(store, events=[b"%d" % number for number in range(1, 201)])
        assert list(await store.read(E, 0, 2)) == [b"1", b"2"]
        assert list(await store.read(E, 198, 5)) == [b"199", b"200"]
        assert list(await store.read(E, 200, 5)) == []


async def test_logs_of_two_executions_are_apart(home: Home) -> None:
    async with home.store() as store:
        await append(store, name="e1", events=[b"one"])
        await append(store, name="e2", events=[b"two", b"more"])
        assert (await store.head("e1"), await store.head("e2")) == (1, 2)
        assert list(await store.read("e2", 0, 9)) == [b"two", b"more"]


async def test_an_append_at_another_head_conflicts_tells_the_head_and_changes_nothing(home: Home) -> None:
    async with home.store() as store:
        await append(store, events=[b"1", b"2"])
        late = Append(E, 1, [b"x"], [task(), deadline("a#1", 0.0)], asks=[ask()], summary=summary(E))
        assert list(await store.commit([late])) == [Conflict(2)]
        assert list(await store.read(E, 0, 9)) == [b"1", b"2"]
        assert await store.summary(E) is None
        assert list(await store.claim(ask(), 10)) == []
        assert list((await store.due(10))[0]) == []


async def test_a_loser_aborts_nobody_else_in_its_commit(home: Home) -> None:
    async with home.store() as store:
        await append(store, name="e2")
        answers = await store.commit([Append("e1", 0, [b"1"]), Append("e2", 0, [b"x"]), Append("e3", 0, [b"3"])])
        assert [type(each) for each in answers] == [Appended, Conflict, Appended]
        assert [await store.head(name) for name in ("e1", "e2", "e3")] == [1, 1, 1]


async def test_two_appends_of_one_execution_in_a_commit_follow_each_other(home: Home) -> None:
    async with home.store() as store:
        answers = await store.commit([Append(E, 0, [b"1"]), Append(E, 1, [b"2"]), Append(E, 1, [b"x"])])
        assert [type(each) for each in answers] == [Appended, Appended, Conflict]
        assert list(await store.read(E, 0, 9)) == [b"1", b"2"]


async def test_an_append_may_have_no_events_and_still_takes_effect(home: Home) -> None:
    async with home.store() as store:
        answer = await append(store, task(), events=[], asks=[ask()])
        assert [each.head for each in answer.granted] == [0]
        assert await store.head(E) == 0


async def test_what_was_committed_is_there_when_the_store_is_opened_again(home: Home) -> None:
    async with home.store() as store:
        message = CancelChild("e9")
        await append(store, task(), deadline("a#1", home.clock.now()), message, events=[b"1"], summary=summary(E))
    async with home.store() as store:
        assert list(await store.read(E, 0, 9)) == [b"1"]
        assert await store.summary(E) == summary(E)
        assert [each.body for each in await store.messages(0, 9)] == [message]
        assert len((await store.due(9))[0]) == 1
        assert (await claimed(store)).row == ("a#1", ())


# ------------------------------------------------------------------------------ fences


async def test_progress_under_an_old_epoch_refuses_the_whole_append(home: Home) -> None:
    async with home.store() as store:
        await append(store, task())
        old = await claimed(store)
        await store.release([old])
        new = await claimed(store)
        late = Append(E, 1, [b"x"], [task("b#1")], [progress(old, begun=(0,), ended=(0,))], summary=summary(E))
        assert list(await store.commit([late])) == [Fenced(frozenset({0}))]
        assert await store.head(E) == 1
        assert await store.summary(E) is None
        assert list(await store.claim(ask("w2"), 10)) == []
        await append(store, progress=[progress(new, begun=(0,), ended=(0,))])


async def test_progress_is_fenced_once_its_lease_was_ended(home: Home) -> None:
    async with home.store() as store:
        await append(store, task())
        granted = await claimed(store)
        home.clock.pass_s(10.0)
        await store.expire(10)
        late = Append(E, 1, [b"x"], progress=[progress(granted, begun=(0,), ended=(0,))])
        assert list(await store.commit([late])) == [Fenced(frozenset({0}))]


async def test_progress_on_an_index_of_another_lease_is_fenced(home: Home) -> None:
    async with home.store() as store:
        await append(store, loop())
        first = await claimed(store, worker="w1", slots=1)
        second = await claimed(store, worker="w2", slots=1)
        stolen = Append(E, 1, [b"x"], progress=[progress(second, begun=(first.lease.next,))])
        assert list(await store.commit([stolen])) == [Fenced(frozenset({0}))]


async def test_progress_on_work_that_is_gone_is_fenced(home: Home) -> None:
    async with home.store() as store:
        await append(store, task())
        granted = await claimed(store)
        await append(store, EndAll())
        late = Append(E, 2, [b"x"], progress=[progress(granted, begun=(0,))])
        assert list(await store.commit([late])) == [Fenced(frozenset({0}))]


async def test_a_fence_tells_each_position_that_does_not_hold_and_takes_none_of_the_others(home: Home) -> None:
    async with home.store() as store:
        await append(store, task("a#1"), task("b#1"))
        good, bad = await store.claim(ask(), 10)
        await store.release([bad])
        parts = [progress(bad), progress(good, begun=(0,), ended=(0,)), progress(bad)]
        assert list(await store.commit([Append(E, 1, [b"x"], progress=parts)])) == [Fenced(frozenset({0, 2}))]
        await append(store, progress=[progress(good, begun=(0,), ended=(0,))])


async def test_who_is_fenced_aborts_nobody_else_in_its_commit(home: Home) -> None:
    async with home.store() as store:
        await append(store, task())
        granted = await claimed(store)
        await store.release([granted])
        answers = await store.commit([Append(E, 1, [b"x"], progress=[progress(granted)]), Append("e2", 0, [b"1"])])
        assert [type(each) for each in answers] == [Fenced, Appended]
        assert await store.head("e2") == 1


# ------------------------------------------------------------------------------ timers


async def test_timers_are_told_when_they_are_due_in_order_and_when_the_next_one_is(home: Home) -> None:
    async with home.store() as store:
        now = home.clock.now()
        timers = [deadline("c#1", now + 7.0), deadline("b#1", now + 2.0), deadline("a#1", now + 1.0)]
        await append(store, *timers)
        assert await store.due(10) == ([], 1.0)
        home.clock.pass_s(2.0)
        due, next_s = await store.due(10)
        assert [(each.execution_id, each.timer) for each in due] == [(E, timers[2]), (E, timers[1])]
        assert next_s == 5.0
        home.clock.pass_s(5.0)
        assert (len((await store.due(10))[0]), (await store.due(10))[1]) == (3, None)


async def test_where_more_is_due_than_asked_for_the_next_one_is_due_at_once(home: Home) -> None:
    async with home.store() as store:
        await append(store, *(deadline(f"{step}#1", home.clock.now()) for step in "abc"))
        due, next_s = await store.due(2)
        assert len(due) == 2
        assert next_s == 0.0


async def test_a_timer_is_due_until_an_append_has_answered_it(home: Home) -> None:
    async with home.store() as store:
        await append(store, deadline("a#1", home.clock.now()))
        (timer,), _ = await store.due(10)
        assert [each.id for each in (await store.due(10))[0]] == [timer.id]
        await append(store, done=[timer.id])
        assert await store.due(10) == ([], None)


async def test_what_a_fenced_append_answered_is_not_done(home: Home) -> None:
    async with home.store() as store:
        await append(store, task(), deadline("a#1", home.clock.now()), CancelChild("e2"))
        granted = await claimed(store)
        await store.release([granted])
        (timer,), _ = await store.due(10)
        (message,) = await store.messages(0, 10)
        late = Append(E, 1, [b"x"], progress=[progress(granted)], done=[timer.id, message.id])
        await store.commit([late])
        assert len((await store.due(10))[0]) == len(await store.messages(0, 10)) == 1


async def test_a_timer_that_is_set_again_replaces_itself_under_an_id_that_never_was(home: Home) -> None:
    async with home.store() as store:
        now = home.clock.now()
        await append(store, deadline("a#1", now))
        (first,), _ = await store.due(10)
        await append(store, deadline("a#1", now + 5.0))
        assert await store.due(10) == ([], 5.0)
        await append(store, done=[first.id])
        home.clock.pass_s(5.0)
        (second,), _ = await store.due(10)
        assert second.id > first.id


async def test_a_timer_id_belongs_to_its_execution(home: Home) -> None:
    async with home.store() as store:
        await append(store, deadline("a#1", home.clock.now()), name="e1")
        await append(store, deadline("a#1", home.clock.now()), name="e2")
        assert {each.execution_id for each in (await store.due(10))[0]} == {"e1", "e2"}


async def test_timers_of_a_step_run_are_cleared_and_those_of_others_stay(home: Home) -> None:
    async with home.store() as store:
        now = home.clock.now()
        going_on = SetTimer("continue", now, Continue())
        kept = [deadline("b#1", now), deadline("a#10", now), going_on]
        await append(store, deadline("a#1", now), wait_timer("a#1", (3,), now), *kept)
        await append(store, ClearTimers("a#1"))
        assert [each.timer for each in (await store.due(10))[0]] == kept


async def test_timers_of_an_iteration_are_cleared_with_what_is_inside_it(home: Home) -> None:
    async with home.store() as store:
        now = home.clock.now()
        kept = [deadline("a#1", now), wait_timer("a#1", (30,), now), wait_timer("a#1", (2, 3), now)]
        await append(store, wait_timer("a#1", (3,), now), wait_timer("a#1", (3, 1), now), *kept)
        await append(store, ClearTimers("a#1", (3,)))
        assert [each.timer for each in (await store.due(10))[0]] == kept


async def test_effects_on_timers_take_place_in_their_order(home: Home) -> None:
    async with home.store() as store:
        now = home.clock.now()
        again = wait_timer("a#1", (1,), now, "t")
        await append(store, wait_timer("a#1", (0,), now, "t"), ClearTimers("a#1"), again)
        assert [each.timer for each in (await store.due(10))[0]] == [again]
        await append(store, EndAll(), deadline("b#1", now))
        assert [each.timer for each in (await store.due(10))[0]] == [deadline("b#1", now)]


async def test_the_end_of_an_execution_clears_its_timers_and_no_others(home: Home) -> None:
    async with home.store() as store:
        now = home.clock.now()
        await append(store, deadline("a#1", now), name="e1")
        await append(store, deadline("a#1", now), name="e2")
        await append(store, deadline("b#1", now), EndAll(), name="e1")
        assert [each.execution_id for each in (await store.due(10))[0]] == ["e2"]


# ------------------------------------------------------------------------------ messages


async def test_messages_wait_in_the_order_in_which_they_were_committed(home: Home) -> None:
    async with home.store() as store:
        start = StartChild("e2", "other", None, {"a": [1, None]}, Parent(E, "a#1", (2,), "t", 1))
        await append(store, start, CancelChild("e2"), name="e1")
        await append(store, CancelChild("e4"), name="e3")
        found = await store.messages(0, 10)
        assert [(each.sender, each.execution_id, each.body) for each in found] == [
            ("e1", "e2", start),
            ("e1", "e2", CancelChild("e2")),
            ("e3", "e4", CancelChild("e4")),
        ]
        assert [each.id for each in found] == sorted({each.id for each in found})


async def test_messages_are_read_by_pages_and_gone_once_answered(home: Home) -> None:
    async with home.store() as store:
        await append(store, *(CancelChild(f"c{number}") for number in range(5)))
        first = await store.messages(0, 2)
        rest = await store.messages(first[-1].id, 10)
        assert [each.execution_id for each in (*first, *rest)] == ["c0", "c1", "c2", "c3", "c4"]
        await append(store, name="c1", done=[first[1].id])
        assert [each.execution_id for each in await store.messages(0, 2)] == ["c0", "c2"]


async def test_what_an_execution_said_is_delivered_after_its_end(home: Home) -> None:
    async with home.store() as store:
        await append(store, CancelChild("e2"), EndAll(), CancelChild("e3"))
        assert [each.execution_id for each in await store.messages(0, 10)] == ["e2", "e3"]


async def test_data_in_messages_comes_back_as_it_was_references_and_look_alikes_included(home: Home) -> None:
    async with home.store() as store:
        reference = Reference("blob", {"sha256": "00"})
        data = {"ref": reference, "far": External(reference, {"id": 1}), "$noetl": "mine", "n": [1.5, None, "é"]}
        told = TellParent("e0", EndWait("a#1", (1,), "t", Output(data=data, blocks={"http": {"status": 200}})))
        await append(store, told, StartChild("e2", "p", "1.0", data, Parent(E, "a#1", (), "t", 1, "end", 7)))
        first, second = await store.messages(0, 10)
        assert first.body == told
        started = second.body
        assert isinstance(started, StartChild)
        assert started.workload == data


async def test_ids_of_timers_and_messages_never_come_again_not_even_after_reopening(home: Home) -> None:
    async with home.store() as store:
        await append(store, CancelChild("e2"), deadline("a#1", home.clock.now()))
        (message,) = await store.messages(0, 10)
        (timer,), _ = await store.due(10)
        await append(store, done=[message.id, timer.id])
    async with home.store() as store:
        await append(store, CancelChild("e2"), deadline("a#1", home.clock.now()))
        (later,), _ = await store.due(10)
        assert min((await store.messages(0, 10))[0].id, later.id) > max(message.id, timer.id)


# ------------------------------------------------------------------------------ snapshots, summaries, rows


async def test_the_last_snapshot_is_kept(home: Home) -> None:
    async with home.store() as store:
        assert await store.snapshot(E) is None
        await store.save_snapshot(E, 5, b"five")
        await store.save_snapshot(E, 9, b"nine")
        assert await store.snapshot(E) == (9, b"nine")
        assert await store.snapshot("e2") is None


async def test_a_summary_is_that_of_the_last_append_that_gave_one(home: Home) -> None:
    async with home.store() as store:
        child = Summary(E, "p", "d", "running", 1.5, 2.5, 1, Parent("e0", "a#1", (1, 2), "t", 2, "end", 3))
        assert await store.summary(E) is None
        await append(store, summary=child)
        await append(store)
        assert await store.summary(E) == child
        assert await store.head(E) == 2


async def test_live_executions_are_listed_by_id_in_pages_and_ended_ones_are_not(home: Home) -> None:
    async with home.store() as store:
        for name in ("e3", "e1", "e5", "e2", "e4"):
            await append(store, name=name, summary=summary(name))
        await append(store, name="untold")
        for name, status in (("e2", "completed"), ("e4", "failed"), ("e5", "cancelled")):
            await append(store, name=name, summary=summary(name, status))
        assert [each.execution_id for each in await store.live("", 1)] == ["e1"]
        assert [each.execution_id for each in await store.live("e1", 10)] == ["e3"]
        assert list(await store.live("e3", 10)) == []


async def test_what_was_started_by_nobody_is_listed_from_the_last_id_on_in_pages(home: Home) -> None:
    async with home.store() as store:
        for name in ("e3", "e1", "e2"):
            await append(store, name=name, summary=summary(name, "completed"))
        child = Summary("e9", "p", "d", "running", 1.0, 1.0, 1, Parent("e1", "a#1", (), "t", 1))
        await append(store, name="e9", summary=child)
        await append(store, name="untold")
        assert [each.execution_id for each in await store.recent("", 2)] == ["e3", "e2"]
        assert [each.execution_id for each in await store.recent("e2", 2)] == ["e1"]


async def test_what_an_execution_started_and_what_stands_below_is_listed_by_id_in_pages(home: Home) -> None:
    async with home.store() as store:
        for name in ("e1", "e1-x.a/1", "e1.a/1", "e1.a/1.b/1", "e1.c[10]/1", "e1.c[2]/1", "e10.a/1"):
            await append(store, name=name, summary=summary(name, "completed"))
        await append(store, name="e1.untold/1")
        below = ["e1.a/1", "e1.a/1.b/1", "e1.c[10]/1", "e1.c[2]/1"]
        assert [each.execution_id for each in await store.below("e1", "", 10)] == below
        assert [each.execution_id for each in await store.below("e1", "", 2)] == below[:2]
        assert [each.execution_id for each in await store.below("e1", below[1], 10)] == below[2:]
        assert [each.execution_id for each in await store.below("e1.a/1", "", 10)] == below[1:2]
        assert list(await store.below("e1", below[-1], 10)) == []


async def test_rows_show_the_head_the_work_the_timers_and_the_children_of_one_moment(home: Home) -> None:
    async with home.store() as store:
        parent = Parent(E, "a#1", (), "t", 1)
        timer = deadline("a#1", home.clock.now())
        await append(store, loop(), timer, StartChild("starting", "p", None, {}, parent), CancelChild("cancelled"))
        await append(store, name="live", summary=Summary("live", "p", "d", "running", 1.0, 1.0, 1, parent))
        await append(store, name="over", summary=Summary("over", "p", "d", "failed", 1.0, 1.0, 1, parent))
        await append(store, TellParent(E, EndWait("a#1", (), "t")), name="telling")
        head, rows = await store.rows(E)
        assert head == 1
        assert [*rows.work] == [("a#1", ())]
        assert list(rows.timers) == [timer]
        assert set(rows.children) == {"starting", "live", "telling"}


async def test_an_execution_without_anything_has_no_rows(home: Home) -> None:
    async with home.store() as store:
        head, rows = await store.rows(E)
        assert (head, dict(rows.work), list(rows.timers), set(rows.children)) == (0, {}, [], set())
