"""What one pass over a log tells of it, and how little of the log stays in memory."""

import tracemalloc
from collections.abc import Iterator

from noetl.engine import events as e
from noetl.engine.output import Output
from noetl.engine.survey import UNREAD, Survey
from noetl.playbook.model import LoopMode
from tests.engine.driver import Driver
from tests.engine.reruns import Calls, loop

ITERATIONS = 50_000
SURVEY_BYTES_MAX = 500_000


def long_loop(count: int) -> Iterator[e.Fact]:
    """All but the last iteration have succeeded."""
    yield e.StepScheduled("each#1", "each", tokens=(e.Token("each", e.Trigger("workflow.started")),))
    yield e.LoopStarted("each#1", (), count, {}, LoopMode.PARALLEL, 8)
    for index in range(count - 1):
        yield e.IterationDone("each#1", (index,), Output(data={"text": f"what iteration {index} gave"}))
    yield e.IterationFailed("each#1", (count - 1,), Output())


def test_a_survey_of_a_long_loop_keeps_none_of_its_facts() -> None:
    survey = Survey()
    tracemalloc.start()
    for seq, fact in enumerate(long_loop(ITERATIONS), 1):
        survey.note(seq, fact)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert list(survey.unfinished) == ["each#1"]
    assert survey.length == ITERATIONS + 2
    assert peak_bytes < SURVEY_BYTES_MAX


def test_a_survey_tells_the_same_without_the_facts_that_it_need_not_read() -> None:
    origin = Driver(loop("parallel", "best_effort"), Calls(lambda _, given: given.get("item") == 11)).run()
    assert any(type(fact) in UNREAD for fact in origin.facts)
    some, whole = Survey(), Survey()
    for seq, fact in enumerate(origin.facts, 1):
        whole.note(seq, fact)
        if type(fact) not in UNREAD:
            some.note(seq, fact)
    for survey in (some, whole):
        assert survey.first == origin.facts[0]
        assert (survey.is_started, survey.is_finished) == (True, True)
        assert survey.length == len(origin.facts)
        assert list(survey.scheduled) == ["start#1", "each#1", "after#1"]
        assert survey.stuck == set()
        assert list(survey.unfinished) == ["each#1"]
        assert survey.following(["each#1"]) == {"each#1", "after#1"}


def test_a_survey_of_half_a_log_tells_what_was_under_way() -> None:
    origin = Driver(loop("parallel", "fail_fast"), Calls()).run(5)
    survey = Survey()
    for seq, fact in enumerate(origin.facts, 1):
        survey.note(seq, fact)
    assert not survey.is_finished
    assert survey.stuck == {"each#1"}
    assert survey.loops["each#1"].has_any
