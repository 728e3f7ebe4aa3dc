"""A rerun passes over the log that it goes on from, and keeps none of it."""

import tracemalloc
from collections.abc import Iterator, Sequence

from noetl.control_plane.reruns import Reruns
from noetl.engine import events as e
from noetl.engine.codec import encode
from noetl.engine.commands import RequestExecution
from noetl.engine.envelope import stamp
from noetl.engine.output import NOTHING, Output, failed
from noetl.engine.rerun import Cut
from noetl.playbook.model import Directive, LoopMode
from noetl.storage.memory import MemoryStore
from noetl.supply.programs import Programs
from noetl.supply.shelf import Shelf
from tests.runtime import Rig, head, played, registered

COUNT = 4_000
READ_MAX = 100
RERUN_BYTES_MAX = 3_000_000

LOOP = f"""{head("long")}
workflow:
  - step: each
    loop: {{ in: [], iterator: item, spec: {{ mode: parallel }} }}
    tool: {{ kind: python, code: x }}
"""
TOKEN = e.Token("each", e.Trigger("workflow.started"))


def beginning(digest: str) -> Iterator[e.Fact]:
    yield e.ExecutionRequested("long", digest)
    yield e.RequestEvaluated(entry_step="each")
    yield e.WorkflowStarted("each")
    yield e.StepScheduled("each#1", "each", tokens=(TOKEN,))
    yield e.LoopStarted("each#1", (), COUNT, {}, LoopMode.PARALLEL, 8)


def iteration(index: int) -> Iterator[e.Fact]:
    path, run = (index,), f"each#1[{index}].each_task/1"
    output = failed("exception", "no") if index == COUNT - 1 else Output(data={"text": "x" * 500})
    directive, after = (Directive.FAIL, None) if output.error is not None else (Directive.CONTINUE, 1)
    yield e.IterationStarted("each#1", path)
    yield e.TaskStarted("each#1", path, run, "each_task", 1, run)
    yield e.TaskDone("each#1", path, run, "each_task", 1, output, directive, after)
    yield (e.IterationFailed if output.error is not None else e.IterationDone)("each#1", path, output)


def ending() -> Iterator[e.Fact]:
    trigger = e.Trigger("step.failed", "each", "error", "each#1")
    yield e.StepFailed("each#1", NOTHING)
    yield e.NextEvaluated("each#1", "each", trigger, ())
    yield e.WorkflowFinished("failed", NOTHING)
    yield e.PlaybookProcessed("failed")


class WrittenAsRead(MemoryStore):
    """A log that exists only as far as somebody holds what they have read of it."""

    digest = ""

    async def read(self, execution_id: str, after: int, limit: int) -> Sequence[bytes]:
        facts = [fact for at in range(after, after + limit) for fact in self._fact(at)]
        stamped = stamp(facts, execution_id=execution_id, after=after, timestamp=0.0, parent=None)
        return [encode(event) for event in stamped]

    def _fact(self, at: int) -> Sequence[e.Fact]:
        begun = list(beginning(self.digest))
        if at < len(begun):
            return begun[at : at + 1]
        index, place = divmod(at - len(begun), 4)
        if index < COUNT:
            return list(iteration(index))[place : place + 1]
        return list(ending())[at - len(begun) - 4 * COUNT :][:1]


@played
async def test_a_rerun_of_a_long_log_keeps_none_of_it(rig: Rig) -> None:
    playbook = registered(LOOP)
    await rig.catalog.register(playbook)
    log = WrittenAsRead(rig.system)
    log.digest = playbook.digest
    programs = Programs(rig.catalog.by_digest)
    program = await programs.get(playbook.digest)
    assert program is not None
    reruns = Reruns(log, programs, Shelf(rig.results, 1_000), rig.system, READ_MAX)
    tracemalloc.start()
    request = await reruns.request("x", Cut(), program)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert isinstance(request, RequestExecution)
    _, _, started = request.seed
    assert isinstance(started, e.LoopStarted)
    assert started.kept is not None
    assert started.kept.ended.gaps(COUNT) == [COUNT - 1]
    assert peak_bytes < RERUN_BYTES_MAX
