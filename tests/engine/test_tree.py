"""The tree of an execution, read from its log."""

import pytest

from noetl.engine import events as e
from noetl.engine.commands import CancelExecution, EndWait
from noetl.engine.envelope import Event, stamp
from noetl.engine.output import Output, failed
from noetl.engine.rerun import Cut
from noetl.engine.tree import Counts, Kind, Node, Page, State, tree
from noetl.playbook.model import Directive, LoopMode
from tests.engine import playbooks
from tests.engine.driver import Driver
from tests.engine.rerunning import rerun
from tests.engine.test_snapshot import Tool
from tests.engine.texts import pipeline


def drawn(node: Node, depth: int = 0) -> list[str]:
    counts = f" {node.loop.succeeded}+{node.loop.failed}/{node.loop.total}" if node.loop is not None else ""
    line = f"{'  ' * depth}{node.id} {node.status}{counts}"
    return [line, *(text for child in node.children for text in drawn(child, depth + 1))]


def of(driver: Driver, page: Page | None = None) -> list[str]:
    return drawn(tree("x", driver.events, page))


def ids(node: Node) -> list[str]:
    return [node.id, *(id_ for child in node.children for id_ in ids(child))]


def test_loops_jumps_and_retries_have_their_nodes() -> None:
    assert of(Driver(playbooks.PAGES, Tool()).run()) == [
        "x done",
        "  start#1 done",
        "  fetch_all#1 done 2+0/2",
        "    fetch_all#1[0] done",
        "      fetch_all#1[0].init/1 done",
        "      fetch_all#1[0].fetch/1 done",
        "      fetch_all#1[0].paginate/1 done",
        "      fetch_all#1[0].fetch/2 retried",
        "      fetch_all#1[0].fetch/3 done",
        "      fetch_all#1[0].paginate/2 done",
        "      fetch_all#1[0].fetch/4 done",
        "      fetch_all#1[0].paginate/3 done",
        "    fetch_all#1[1] done",
        "      fetch_all#1[1].init/1 done",
        "      fetch_all#1[1].fetch/1 done",
        "      fetch_all#1[1].paginate/1 done",
        "      fetch_all#1[1].fetch/2 done",
        "      fetch_all#1[1].paginate/2 done",
        "  done#1 done",
        "    done#1.done_task/1 done",
    ]


def test_nested_iterations_stand_below_their_outer_one() -> None:
    def tool(_name: str, _fields: object, given: object) -> Output:
        return failed("exception", "no") if given == {"hotel": 2} else Output(data=1)

    assert of(Driver(playbooks.NESTED, tool).run()) == [
        "x done",
        "  cities#1 done 2+0/2",
        "    cities#1[0] done 1+1/2",
        "      cities#1[0,0] done",
        "        cities#1[0,0].cities_task/1 done",
        "      cities#1[0,1] failed",
        "        cities#1[0,1].cities_task/1 failed",
        "    cities#1[1] done 1+0/1",
        "      cities#1[1,0] done",
        "        cities#1[1,0].cities_task/1 done",
    ]


def test_a_block_stands_below_its_call_and_a_rule_that_decided_is_there_too() -> None:
    assert of(Driver(playbooks.BLOCKS, Tool()).run()) == [
        "x done",
        "  call#1 done",
        "    call#1.ready/1 skipped",
        "    call#1.twice/1 done",
        "      call#1.twice/1[0] done",
        "        call#1.twice/1[0].add/1 done",
        "      call#1.twice/1[1] done",
        "        call#1.twice/1[1].add/1 done",
        "    call#1.once/1 done",
        "      call#1.once/1.single/1 done",
    ]


def test_a_child_execution_stands_below_its_task_run() -> None:
    driver = Driver(playbooks.PARENT, Tool(), playbooks={"other": playbooks.CHILD}).run()
    assert of(driver) == ["x done", "  ask#1 done", "    ask#1.child/1 done", "      x.ask#1.child/1 done"]
    child = tree("x", driver.events).children[0].children[0].children[0]
    assert (child.kind, child.name) == (Kind.EXECUTION, "other")


def test_a_child_that_failed_says_why() -> None:
    driver = Driver(playbooks.PARENT, lambda *_: failed("exception", "no"), playbooks={"other": playbooks.CHILD}).run()
    assert of(driver)[-1] == "      x.ask#1.child/1 failed"
    child = tree("x", driver.events).children[0].children[0].children[0]
    assert child.error is not None
    assert "no" in child.error


def test_a_live_parent_waits_and_its_child_is_cancelled_with_it() -> None:
    driver = Driver(playbooks.PARENT, Tool(), playbooks={"other": playbooks.CHILD}).run(moves=1)
    assert of(driver) == ["x running", "  ask#1 running", "    ask#1.child/1 waiting", "      x.ask#1.child/1 running"]
    driver.send(CancelExecution("enough"))
    assert [line.split()[1] for line in of(driver)] == ["cancelled"] * 4


def test_a_child_that_took_too_long_is_cancelled() -> None:
    text = pipeline("- { name: child, kind: playbook, path: other, spec: { timeout: 5 } }")
    driver = Driver(text, Tool(), playbooks={"other": playbooks.CHILD}).run(moves=1)
    driver.send(EndWait("s#1", (), "s#1.child/1", is_late=True))
    assert of(driver)[-1] == "      x.s#1.child/1 cancelled"


def test_a_child_that_was_cancelled_is_cancelled() -> None:
    driver = Driver(playbooks.PARENT, Tool(), playbooks={"other": playbooks.CHILD}).run(moves=1)
    driver.children["x.ask#1.child/1"].send(CancelExecution())
    driver.run()
    assert of(driver)[-1] == "      x.ask#1.child/1 cancelled"


def test_a_skipped_step_is_shown_though_it_has_no_run() -> None:
    found = of(Driver(playbooks.DOORS, Tool()).run())
    assert "  by_rule#skipped-1 skipped" in found
    assert "  patient#1 done" in found


def loop_log(count: int) -> list[Event]:
    facts: list[e.Fact] = [
        e.ExecutionRequested("demo", "d"),
        e.WorkflowStarted("a"),
        e.StepScheduled("a#1", "a"),
        e.LoopStarted("a#1", (), count, list(range(count)), LoopMode.PARALLEL, 10),
        e.StepStarted("a#1"),
    ]
    for index in range(count):
        id_ = f"a#1[{index}].t/1"
        facts += [
            e.IterationStarted("a#1", (index,)),
            e.TaskStarted("a#1", (index,), id_, "t", 1, id_),
            e.TaskWaiting("a#1", (index,), id_, due_at=5.0),
            e.TaskWaiting("a#1", (index,), id_, is_over=True),
            e.IterationStarted("a#1", (index,), call=id_),
            e.IterationDone("a#1", (index,), Output(), call=id_),
            e.TaskDone("a#1", (index,), id_, "t", 1, Output(), Directive.CONTINUE, 1),
            e.TaskDone("a#1", (index,), f"a#1[{index}].u/1", "u", 0, Output(), Directive.SKIP, 2, ran=False),
            e.IterationDone("a#1", (index,), Output()) if index % 3 else e.IterationFailed("a#1", (index,), Output()),
        ]
    return stamp(facts, execution_id="x", after=0, timestamp=1.0, parent=None)


def test_a_huge_loop_is_counted_whole_and_shown_by_the_page() -> None:
    found = tree("x", loop_log(1_000), Page(500, 2))
    step = found.children[0]
    assert step.loop == Counts(1_000, started=1_000, succeeded=666, failed=334)
    assert drawn(step)[1:] == [
        "  a#1[500] done",
        "    a#1[500].t/1 done",
        "      a#1[500].t/1[0] done",
        "    a#1[500].u/1 skipped",
        "  a#1[501] failed",
        "    a#1[501].t/1 done",
        "      a#1[501].t/1[0] done",
        "    a#1[501].u/1 skipped",
    ]


def test_a_page_may_be_that_of_an_inner_loop() -> None:
    driver = Driver(playbooks.NESTED, Tool()).run()
    shown = ids(tree("x", driver.events, Page(1, 1, of="cities#1[0]")))
    assert shown == ["x", "cities#1", "cities#1[0]", "cities#1[0,1]", "cities#1[0,1].cities_task/1"]


def test_a_block_with_a_loop_in_a_loop_is_shown_by_the_page_too() -> None:
    call = "a#1.c/1"
    started, done = e.IterationStarted("a#1", (), call), e.IterationDone("a#1", (), Output(), call=call)
    once: list[e.Fact] = [started, started, done, started, done, done]
    facts: list[e.Fact] = [e.StepScheduled("a#1", "a"), e.TaskStarted("a#1", (), call, "c", 1, call), *once, *once]
    events = stamp(facts, execution_id="x", after=0, timestamp=1.0, parent=None)
    inside = ["a#1.c/1[0]", "a#1.c/1[0,0]", "a#1.c/1[0,1]", "a#1.c/1[1]", "a#1.c/1[1,0]", "a#1.c/1[1,1]"]
    assert ids(tree("x", events))[3:] == inside
    assert ids(tree("x", events, Page(size=1)))[3:] == inside[:2]


def test_loops_inside_what_is_not_shown_are_not_kept() -> None:
    facts: list[e.Fact] = [
        e.StepScheduled("a#1", "a"),
        e.LoopStarted("a#1", (), 2, [1, 2], LoopMode.PARALLEL, 1),
        e.IterationStarted("a#1", (1,)),
        e.LoopStarted("a#1", (1,), 1, [1], LoopMode.PARALLEL, 1),
        e.IterationStarted("a#1", (1, 0)),
        e.IterationDone("a#1", (1, 0), Output()),
    ]
    found = tree("x", stamp(facts, execution_id="x", after=0, timestamp=1.0, parent=None), Page(0, 1))
    assert ids(found) == ["x", "a#1"]


def test_a_rerun_counts_the_iterations_it_keeps() -> None:
    text = playbooks.NESTED

    def tool(_name: str, _fields: object, given: object) -> Output:
        return failed("exception", "no") if given == {"hotel": 2} else Output(data=1)

    origin = Driver(text, tool).run()
    request = rerun(origin.program, "x", origin.facts, Cut(failed_iterations=True), now=0.0)
    assert not isinstance(request, e.Body)
    driver = Driver(text, Tool(), request=("y", request)).run()  # type: ignore[arg-type]
    step = tree("y", driver.events).children[0]
    assert step.loop == Counts(2, started=1, succeeded=2, kept=1)
    assert [child.id for child in step.children] == ["cities#2[0]"]


def test_a_log_without_its_beginning_still_gives_a_tree() -> None:
    facts: list[e.Fact] = [
        e.StepStarted("a#1"),
        e.LoopStarted("a#1", (), 1, [1], LoopMode.PARALLEL, 1),
        e.TaskWaiting("a#1", (), "a#1.t/1", is_over=True),
        e.StepDone("a#1", Output()),
    ]
    assert ids(tree("x", stamp(facts, execution_id="x", after=9, timestamp=1.0, parent=None))) == ["x"]


def test_times_are_those_of_the_events() -> None:
    facts: list[e.Fact] = [
        e.ExecutionRequested("demo", "d"),
        e.StepScheduled("a#1", "a"),
        e.StepDone("a#1", Output()),
        e.StepSkipped("b", ()),
        e.WorkflowFinished("completed", Output()),
    ]
    one_by_one = [
        stamp([fact], execution_id="x", after=at, timestamp=float(at), parent=None)[0] for at, fact in enumerate(facts)
    ]
    root = tree("x", one_by_one)
    times = [(node.started_at, node.ended_at) for node in (root, *root.children)]
    assert times == [(0.0, 4.0), (1.0, 2.0), (3.0, 3.0)]


def test_what_failed_says_why() -> None:
    driver = Driver(playbooks.FAN, lambda *_: failed("exception", "it broke")).run()
    root = tree("x", driver.events)
    assert root.error is not None
    assert "it broke" in root.error
    step = next(node for node in root.children if node.id == "left#1")
    assert (step.status, step.error) == (State.FAILED, "it broke")


def test_a_loop_runs_as_soon_as_its_collection_is_taken() -> None:
    driver = Driver(playbooks.NESTED, Tool())
    assert of(driver) == [
        "x running",
        "  cities#1 running 0+0/2",
        "    cities#1[0] running 0+0/2",
        "    cities#1[1] running 0+0/1",
    ]


def test_a_task_whose_wait_is_over_runs_again() -> None:
    driver = Driver(playbooks.PARENT, Tool(), playbooks={"other": playbooks.CHILD})
    while not any(isinstance(fact, e.TaskWaiting) and fact.is_over for fact in driver.facts):
        driver.step()
    assert of(driver)[-2:] == ["    ask#1.child/1 running", "      x.ask#1.child/1 done"]


@pytest.mark.parametrize(
    ("directive", "output", "ran", "status"),
    [
        (Directive.RETRY, failed("connect", "no"), True, State.RETRIED),
        (Directive.SKIP, Output(), True, State.SKIPPED),
        (Directive.JUMP, Output(), False, State.SKIPPED),
        (Directive.FAIL, failed("failed", "told"), False, State.FAILED),
        (Directive.CONTINUE, failed("connect", "no"), True, State.FAILED),
        (Directive.BREAK, Output(), True, State.DONE),
    ],
)
def test_a_task_run_shows_how_it_ended(directive: Directive, output: Output, ran: bool, status: State) -> None:
    facts: list[e.Fact] = [e.StepScheduled("a#1", "a")]
    if ran:
        facts.append(e.TaskStarted("a#1", (), "a#1.t/1", "t", 1, "a#1.t/1"))
    facts.append(e.TaskDone("a#1", (), "a#1.t/1", "t", 1, output, directive, None, ran=ran))
    found = tree("x", stamp(facts, execution_id="x", after=0, timestamp=1.0, parent=None))
    assert found.children[0].children[0].status is status
