"""The lines that are told where there is no terminal."""

import pytest

from noetl.cli.live.plain import PlainLines
from noetl.engine import events as e
from noetl.engine.envelope import stamp
from noetl.engine.gathering import Intervals
from noetl.engine.output import NOTHING, Loop, failed
from noetl.playbook.model import LoopMode


class Told:
    """What is told, without the times of the day; `now` is the time of the next fact."""

    def __init__(self, count: int, kept: e.Kept | None = None) -> None:
        self.now = 0.0
        self._lines = PlainLines()
        self.see(e.StepScheduled("each#1", "each"))
        self.see(e.LoopStarted("each#1", (), count, None, LoopMode.PARALLEL, 4, kept))

    def see(self, fact: e.Fact) -> list[str]:
        (event,) = stamp([fact], execution_id="x", after=0, timestamp=self.now, parent=None)
        return [line.partition(" ")[2] for line in self._lines.of(event)]

    def ends(self, index: int, *, is_failed: bool = False) -> list[str]:
        if is_failed:
            return self.see(e.IterationFailed("each#1", (index,), failed("exception", "no")))
        return self.see(e.IterationDone("each#1", (index,), NOTHING))


def test_a_long_loop_tells_how_far_it_is_at_every_tenth() -> None:
    told = Told(3_000)
    lines = []
    for index in range(3_000):
        told.now += 1.0
        lines += told.ends(index)
    assert lines == [f"each: {done} of 3000 done" for done in range(300, 3_000, 300)]


def test_a_loop_with_quick_tenths_tells_how_far_it_is_every_half_minute() -> None:
    told = Told(3_000)
    lines = []
    for index in range(3_000):
        told.now += 0.0625
        lines += told.ends(index)
    assert [line.split()[1] for line in lines] == ["480", "960", "1440", "1920", "2400", "2880"]


def test_a_loop_that_ends_soon_tells_nothing_between() -> None:
    told = Told(3_000)
    told.now = 29.0
    assert [line for index in range(3_000) for line in told.ends(index)] == []


def test_failed_iterations_are_told_and_counted() -> None:
    told = Told(20)
    told.now = 40.0
    assert told.ends(0, is_failed=True) == ["each#1[0] failed: no"]
    assert told.ends(1, is_failed=True) == ["each#1[1] failed: no", "each: 2 of 20 done, 2 failed"]
    told.now = 80.0
    assert told.ends(2) == []
    assert told.ends(3) == ["each: 4 of 20 done, 2 failed"]


def test_a_rerun_counts_from_what_it_keeps() -> None:
    told = Told(10, e.Kept("y", "each#1", Intervals([], [], []), 5))
    told.now = 40.0
    assert told.ends(5) == ["each: 6 of 10 done"]


def test_the_last_iteration_leaves_the_word_to_the_end_of_the_loop() -> None:
    told = Told(2)
    told.now = 40.0
    assert told.ends(0) == ["each: 1 of 2 done"]
    told.now = 80.0
    assert told.ends(1) == []
    assert told.see(e.LoopDone("each#1", (), NOTHING, Loop(2, 2, 0, 0))) == [
        "each done in 1 min 20 s: 2 of 2 succeeded"
    ]


@pytest.mark.parametrize(
    "fact",
    [
        e.LoopStarted("each#1", (0,), 100, None, LoopMode.PARALLEL, 4),
        e.IterationDone("each#1", (0, 3), NOTHING),
        e.IterationDone("each#1", (0,), NOTHING, call="each#1[0].block/1"),
        e.IterationDone("other#1", (0,), NOTHING),
    ],
)
def test_loops_inside_and_in_blocks_are_not_counted(fact: e.Fact) -> None:
    told = Told(1)
    told.now = 100.0
    assert told.see(fact) == []


def test_of_what_happens_to_many_iterations_the_first_are_told_and_each_thing_for_itself() -> None:
    told, lines = Told(3_000), []
    child = e.Child("x.each", "shop/one")
    for index in range(50):
        lines += told.see(e.TaskWaiting("each#1", (index,), f"each#1[{index}].t/1", child=child))
    assert lines[9] == "each#1[9].t/1 waits for playbook shop/one"
    assert lines[10:] == ["each: more iterations wait for playbooks, which is not told one by one"]
    told.now = 5.0
    assert told.see(e.TaskWaiting("each#1", (3,), "each#1[3].t/1", due_at=10.0)) == ["each#1[3].t/1 waits for 5.0 s"]
    failures = [line for index in range(50) for line in told.ends(index, is_failed=True)]
    assert failures[9:] == ["each#1[9] failed: no", "each: more iterations fail, which is not told one by one"]


def test_a_step_without_a_loop_tells_all_its_retries() -> None:
    told = Told(1)
    waits = [e.TaskWaiting("one#1", (), f"one#1.t/{number}", due_at=1.0) for number in range(50)]
    assert len([line for fact in waits for line in told.see(fact)]) == 50


def test_a_loop_inside_that_is_done_does_not_silence_the_one_around_it() -> None:
    told = Told(20)
    told.see(e.LoopDone("each#1", (0,), NOTHING, Loop(1, 1, 0, 0)))
    told.now = 40.0
    told.ends(0)
    assert told.ends(1) == ["each: 2 of 20 done"]
