"""An event as one line."""

import msgspec
import pytest

from noetl.cli.inspecting.log import short
from noetl.engine import events as e
from noetl.engine.codec import encode
from noetl.engine.envelope import stamp
from noetl.engine.output import NOTHING, Error, failed
from noetl.engine.reference import External, Reference, encode_value
from noetl.playbook.model import Directive

AT = "2026-03-01T12:00:00.250Z"
NO = failed("exception", "no\nluck")


def data(fact: e.Fact, payload: bytes | None = None) -> bytes:
    (event,) = stamp([fact], execution_id="x", after=6, timestamp=1772366400.25, parent=None)
    return encode(event, payload)


@pytest.mark.parametrize(
    ("fact", "line"),
    [
        (e.StepDone("a#1", NOTHING), "step.done                a#1  success"),
        (e.StepFailed("a#1", NO), "step.failed              a#1  error  failed: no luck"),
        (e.IterationFailed("a#1", (3,), NO), "loop.iteration.failed    a#1[3]  error  failed: no luck"),
        (
            e.TaskDone("a#1", (), "a#1.t/1", "t", 1, NO, Directive.FAIL, None),
            "task.done                a#1.t/1  error  failed: no luck",
        ),
        (e.RequestEvaluated(error=Error("x", "bad")), "playbook.request.evaluated x  error  failed: bad"),
        (e.WorkflowFinished("cancelled", NOTHING), "workflow.finished        x  error  cancelled"),
        (e.WorkflowFinished("failed", NO, NO.error), "workflow.finished        x  error  failed: no luck"),
        (e.PlaybookProcessed("failed"), "playbook.processed       x  error  failed"),
        (e.ExecutionCancelled("enough"), "execution.cancelled      x  error  cancelled: enough"),
        (e.ExecutionCancelled(), "execution.cancelled      x  error  cancelled: no reason was given"),
    ],
)
def test_a_line_tells_when_what_of_what_and_why_it_failed(fact: e.Fact, line: str) -> None:
    assert short(data(fact)) == f"     7  {AT}  {line}"


def test_a_long_message_is_cut() -> None:
    assert len(short(data(e.StepFailed("a#1", failed("exception", "x" * 10_000))))) < 300


def test_an_event_of_a_newer_version_is_told_by_its_name() -> None:
    known = msgspec.json.decode(data(e.PlaybookProcessed("failed")))
    line = short(msgspec.json.encode(known | {"name": "step.danced"}))
    assert line == f"     7  {AT}  step.danced  (this version knows no event of that name)"


def test_an_event_that_is_stored_elsewhere_is_told_by_its_envelope() -> None:
    stored = External(Reference("object", {"sha256": "ab"}))
    line = short(data(e.StepFailed("a#1", NO), encode_value(stored)))
    assert line == f"     7  {AT}  step.failed              a#1  error  failed"
