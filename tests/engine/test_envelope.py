"""The envelope of an event: ids, source and status follow from the fact."""

import pytest

from noetl.engine import events as e
from noetl.engine.envelope import Event, stamp
from noetl.engine.names import child_execution_id, entity_id, step_of, task_label
from noetl.engine.output import Error, Loop, Output, failed
from noetl.playbook.model import Directive, LoopMode

TRIGGER = e.Trigger("step.done", "a", "success", "a#1")
COUNTS = Loop(1, 1, 0, 0)
ERROR = Error("template", "no")


def event(fact: e.Fact) -> Event:
    return stamp([fact], execution_id="x", after=2, timestamp=1.0000004, parent="p")[0]


def done(output: Output) -> e.TaskDone:
    return e.TaskDone("a#1", (3,), "a#1[3].get/2", "get", 2, output, Directive.CONTINUE, 1)


@pytest.mark.parametrize(
    ("fact", "source", "entity", "status"),
    [
        (e.ExecutionRequested("p", "d"), "server", "x", "in_progress"),
        (e.RequestEvaluated({}), "server", "x", "success"),
        (e.RequestEvaluated({}, error=ERROR), "server", "x", "error"),
        (e.WorkflowStarted("a"), "server", "x", "in_progress"),
        (e.StepScheduled("a#1", "a"), "server", "a#1", "in_progress"),
        (e.StepSkipped("a", []), "server", "x", "skipped"),
        (e.LoopStarted("a#1", (), 1, [1], LoopMode.PARALLEL, 1), "server", "a#1", "in_progress"),
        (e.LoopDone("a#1", (2,), Output(), COUNTS), "server", "a#1[2]", "success"),
        (e.CtxPatched({}, e.PatchOrigin("p", "a#1", "a#1.get/1")), "server", "a#1.get/1", "success"),
        (e.CtxPatched({}, e.PatchOrigin("p")), "server", "x", "success"),
        (e.NextEvaluated("a#1", "a", TRIGGER, []), "server", "a#1", "success"),
        (e.NextEvaluated("a#1", "a", TRIGGER, [], error=ERROR), "server", "a#1", "error"),
        (e.ExecutionCancelled(), "server", "x", "error"),
        (e.WorkflowFinished("completed", Output()), "server", "x", "success"),
        (e.WorkflowFinished("failed", Output()), "server", "x", "error"),
        (e.PlaybookProcessed("cancelled"), "server", "x", "error"),
        (e.StepStarted("a#1"), "worker", "a#1", "in_progress"),
        (e.TaskStarted("a#1", (3,), "a#1[3].get/2", "get", 2, "k"), "worker", "a#1[3].get/2", "in_progress"),
        (done(Output()), "worker", "a#1[3].get/2", "success"),
        (done(failed("connect", "no")), "worker", "a#1[3].get/2", "error"),
        (e.TaskWaiting("a#1", (), "a#1.get/1", 5.0), "worker", "a#1.get/1", "in_progress"),
        (e.TaskWaiting("a#1", (), "a#1.get/1", is_over=True), "server", "a#1.get/1", "success"),
        (e.IterationStarted("a#1", (3, 1)), "worker", "a#1[3,1]", "in_progress"),
        (e.IterationStarted("a#1", (3,), by_server=True), "server", "a#1[3]", "in_progress"),
        (e.IterationDone("a#1", (3,), Output(), call="a#1[3].c/1"), "worker", "a#1[3].c/1", "success"),
        (e.IterationFailed("a#1", (3,), Output()), "worker", "a#1[3]", "error"),
        (e.StepDone("a#1", Output()), "worker", "a#1", "success"),
        (e.StepDone("a#1", Output(), by_server=True), "server", "a#1", "success"),
        (e.StepFailed("a#1", Output()), "worker", "a#1", "error"),
    ],
)
def test_source_entity_and_status_follow_from_the_fact(fact: e.Fact, source: str, entity: str, status: str) -> None:
    found = event(fact)
    assert (found.source, found.entity_id, found.status) == (source, entity, status)


def test_a_task_is_known_by_all_its_ids() -> None:
    found = event(done(Output()))
    ids = (found.step_run_id, found.iteration_id, found.task_run_id, found.task_label, found.attempt)
    assert ids == ("a#1", "a#1[3]", "a#1[3].get/2", "get", 2)
    assert event(e.TaskWaiting("a#1", (), "a#1.get/1", 5.0)).task_label == "get"
    assert event(e.CtxPatched({}, e.PatchOrigin("p", "a#1", "a#1.get/1"))).task_label == "get"


def test_events_are_numbered_on_and_timed_to_the_microsecond() -> None:
    found = stamp([e.WorkflowStarted("a")] * 2, execution_id="x", after=2, timestamp=1.0000004, parent="p")
    assert [(each.event_id, each.seq, each.timestamp) for each in found] == [("x:3", 3, 1.0), ("x:4", 4, 1.0)]
    assert found[0].parent_execution_id == "p"


def test_ids_are_readable() -> None:
    assert entity_id("fetch#2", ()) == "fetch#2"
    assert entity_id("fetch#2", (17, 3)) == "fetch#2[17,3]"
    assert step_of("fetch#2") == "fetch"
    assert task_label("fetch#2[17].call/1[0].get_page/3") == "get_page"
    assert child_execution_id("x", "fetch#2.call/1") == "x.fetch#2.call/1"
