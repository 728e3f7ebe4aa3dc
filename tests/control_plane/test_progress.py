"""What a report means for its lease: which indexes it speaks of, which ended and which wait."""

from noetl.control_plane.progress import progress_of
from noetl.engine import events as e
from noetl.engine.commands import Report, Reported
from noetl.engine.leases import Lease
from noetl.engine.output import NOTHING
from noetl.engine.worklist import Progress
from noetl.ports import Granted

LEASE = Lease(7, "w", 60.0, 2, 0, 9)


def test_a_pipeline_without_a_loop_is_index_0() -> None:
    granted = Granted("x", ("s#1", ()), LEASE)
    report = Report("s#1", [e.StepStarted("s#1", "w"), e.StepDone("s#1", NOTHING)])
    assert progress_of(granted, report) == Progress(("s#1", ()), 7, (0,), (0,))
    assert progress_of(granted, Report("s#1", [e.StepStarted("s#1", "w")])) == Progress(("s#1", ()), 7)


def test_an_iteration_is_its_last_number_and_one_inside_a_block_is_no_end() -> None:
    granted = Granted("x", ("s#1", (3,)), LEASE)
    facts: list[Reported] = [
        e.IterationStarted("s#1", (3, 5)),
        e.IterationDone("s#1", (3, 5), NOTHING, call="block"),
        e.IterationFailed("s#1", (3, 5), NOTHING),
        e.TaskWaiting("s#1", (3, 6), "t"),
    ]
    assert progress_of(granted, Report("s#1", facts)) == Progress(("s#1", (3,)), 7, (5, 6), (5,), (6,))
