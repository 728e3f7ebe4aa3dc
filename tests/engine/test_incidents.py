"""What cannot go on by itself, and how it is told, mended and cancelled."""

import msgspec
import pytest

from noetl.engine import effects as fx
from noetl.engine import events as e
from noetl.engine import incidents, leases
from noetl.engine.codec import UnknownEvent
from noetl.engine.commands import CancelExecution, Command, Continue, EndWait, ExpireStep, Rejection, Report
from noetl.engine.explain.waits import For, Wait, explain_waits
from noetl.engine.incidents import STRANDED_MAX, Incident, Kind, Rows, mend, stranded
from noetl.engine.leases import Work
from noetl.engine.output import Output
from noetl.engine.state import empty
from noetl.engine.worklist import Row, carry_out
from tests.engine.driver import Driver, fails
from tests.engine.test_continuing import Short, empties
from tests.engine.texts import Answers, pipeline, playbook

ONE = pipeline("- { name: a, kind: python, code: x }", step="spec: { pool: gpu }")
LATER = """
- name: a
  kind: python
  code: x
  spec: { policy: { rules: [ { when: "{{ output.status == 'error' }}", then: { do: retry, delay: 3600 } } ] } }
"""
CALL = "- { name: a, kind: playbook, path: child, input: { n: 1 } }"
LOOP = 'loop: { in: "{{ range(9) | list }}", iterator: x, spec: { mode: parallel, max_in_flight: 4 } }'
NONE = Rows({}, (), ())
OFFER_REMEDY = "resume the execution, which offers it again; if that does not help, cancel it"


def lacks(driver: Driver, rows: Rows = NONE) -> list[tuple[str, str]]:
    return [(found.where, found.message) for found in stranded(driver.program, driver.state, rows, 7.0)]


def mended(driver: Driver, rows: Rows = NONE) -> list[fx.Effect]:
    return mend(driver.program, driver.state, rows, 7.0)


def claimed(work: Work, *, slots: int = 1, indexes_max: int = 1, epoch: int = 1) -> Work:
    found = leases.claim(work, worker="w", epoch=epoch, now=0, lease_s=60, slots=slots, indexes_max=indexes_max)
    assert found is not None
    return found[0]


# ------------------------------------------------------------------------------ what is stranded


def test_a_pipeline_that_nobody_is_offered_is_stranded_and_offered_again_by_a_resume() -> None:
    driver = Driver(ONE)
    message = "a worker should run it, but it is offered to none"
    assert stranded(driver.program, driver.state, NONE, 7.0) == [
        Incident("x", Kind.STRANDED, message, 7.0, "s#1", OFFER_REMEDY)
    ]
    assert mended(driver) == [fx.OfferWork("s#1", pool="gpu")]


@pytest.mark.parametrize("work", [Work(1, 1), claimed(Work(1, 1)), Work(1, 1, 1, ((0, 1),))])
def test_a_pipeline_on_offer_or_with_a_worker_is_not_stranded(work: Work) -> None:
    driver = Driver(ONE)
    rows = Rows({("s#1", ()): work}, (), ())
    assert (lacks(driver, rows), mended(driver, rows)) == ([], [])


def test_a_pipeline_that_a_worker_runs_is_not_stranded() -> None:
    started = leases.start(claimed(Work(1, 1)), 1, 0)
    assert started is not None
    assert lacks(Driver(ONE), Rows({("s#1", ()): started}, (), ())) == []


def test_work_with_nothing_left_to_hand_out_moves_nothing() -> None:
    driver = Driver(ONE)
    assert lacks(driver, Rows({("s#1", ()): Work(1, 1, 1)}, (), ())) != []
    assert lacks(driver, Rows({("t#1", ()): Work(1, 1)}, (), ())) != []


def test_what_waits_for_a_time_needs_its_timer() -> None:
    driver = Driver(pipeline(LATER), Answers(a=fails())).run(2)
    end = EndWait("s#1", (), "s#1.a/2")
    timer = fx.SetTimer("s#1:wait", 3600.0, end)
    assert lacks(driver) == [("s#1", "it waits for a time, but no timer is set for that")]
    assert mended(driver) == [timer]
    assert lacks(driver, Rows({}, [fx.SetTimer("s#1:deadline", 9.0, ExpireStep("s#1", "deadline")), timer], ())) == []
    earlier = fx.SetTimer("s#1:wait", 3600.0, EndWait("s#1", (), "s#1.a/1"))
    assert lacks(driver, Rows({}, [earlier], ())) != []


def test_what_waits_for_a_child_needs_the_child() -> None:
    driver = Driver(pipeline(CALL), playbooks={"child": ONE}).run(1)
    child = "x.s#1.a/1"
    assert lacks(driver) == [("s#1", f"it waits for child execution {child}, which is not known to be live")]
    parent = e.Parent("x", "s#1", (), "s#1.a/1", 1, share=25_000)
    assert mended(driver) == [fx.StartChild(child, "child", None, {"n": 1}, parent)]
    assert lacks(driver, Rows({}, (), {child})) == []
    assert lacks(driver, Rows({("s#1", ()): Work(1, 1)}, (), {"x.other"})) != []


def test_a_child_that_has_a_time_needs_its_timer_too() -> None:
    driver = Driver(
        pipeline(CALL.replace("kind: playbook", "kind: playbook, spec: { timeout: 60 }")), playbooks={"child": ONE}
    )
    driver.run(1)
    child = "x.s#1.a/1"
    timer = fx.SetTimer("s#1:wait", driver.now + 60.0, EndWait("s#1", (), "s#1.a/1", is_late=True))
    assert lacks(driver, Rows({}, (), {child})) == [("s#1", "it waits for a time, but no timer is set for that")]
    assert lacks(driver, Rows({}, [timer], {child})) == []
    assert timer in mended(driver)


def half_done() -> Driver:
    """Iteration 0 has ended, 1 waits for a time, 2 runs, six are to come."""
    driver = Driver(pipeline(LATER, step=LOOP), Answers(a=[Output(), fails(), Output()]))
    for path in ((0,), (0,), (0,), (1,), (1,), (1,), (2,)):
        driver.move(driver.state.runs["s#1"], path)
    return driver


TIMER = fx.SetTimer("s#1[1]:wait", 3600.0, EndWait("s#1", (1,), "s#1[1].a/2"))


def test_the_iterations_of_a_loop_must_be_with_a_worker_or_on_offer() -> None:
    driver = half_done()
    assert lacks(driver) == [
        ("s#1[1]", "it waits for a time, but no timer is set for that"),
        ("s#1", "1 of its iterations are with no worker and not on offer"),
    ]
    assert mended(driver) == [TIMER, fx.OfferWork("s#1", (), 9, 4, (2, 3, 4, 5, 6, 7, 8))]


@pytest.mark.parametrize(
    ("work", "missing"),
    [
        (Work(9, 4, 2), 0),
        (Work(9, 4, 3, ((2, 3),)), 0),
        (claimed(Work(9, 4, 2), indexes_max=4), 0),
        (claimed(Work(9, 4, 9, ((2, 9),)), indexes_max=3), 0),
        (Work(9, 4, 3), 1),
        (Work(9, 4, 4, ((2, 3),)), 1),
        (Work(9, 4, 9, ((2, 6),)), 3),
        (claimed(Work(9, 4, 9, ((2, 6),)), indexes_max=3), 3),
        (Work(9, 4, 9), 1),
    ],
)
def test_each_iteration_is_looked_for(work: Work, missing: int) -> None:
    driver = half_done()
    expected = [("s#1", f"{missing} of its iterations are with no worker and not on offer")] if missing else []
    assert lacks(driver, Rows({("s#1", ()): work}, [TIMER], ())) == expected


def test_iterations_that_failed_are_not_looked_for() -> None:
    step = LOOP + "\nspec: { policy: { failure: { mode: best_effort } } }"
    driver = Driver(pipeline("- { name: a, kind: python, code: x }", step=step), Answers(a=fails()))
    for path in ((0,), (0,), (0,)):
        driver.move(driver.state.runs["s#1"], path)
    assert lacks(driver) == [("s#1", "8 of its iterations are with no worker and not on offer")]
    assert lacks(driver, Rows({("s#1", ()): Work(9, 4, 1)}, (), ())) == []
    assert lacks(driver, Rows({("s#1", ()): Work(9, 4, 2)}, (), ())) != []


def test_an_iteration_that_a_worker_runs_is_with_it() -> None:
    work = leases.start(claimed(Work(9, 4, 2), slots=2), 1, 2)
    assert work is not None
    assert lacks(half_done(), Rows({("s#1", ()): work}, [TIMER], ())) == []


def test_of_a_loop_that_stops_only_what_runs_is_looked_for() -> None:
    driver = Driver(pipeline("- { name: a, kind: python, code: x }", step=LOOP), Answers(a=fails()))
    for path in ((0,), (1,), (2,), (0,), (0,)):
        driver.move(driver.state.runs["s#1"], path)
    assert lacks(driver) == [("s#1", "2 of its iterations are with no worker and not on offer")]
    assert mended(driver) == [fx.OfferWork("s#1", (), 9, 4, (1, 2))]
    assert lacks(driver, Rows({("s#1", ()): Work(9, 4, 9, ((1, 3),))}, (), ())) == []


def test_loops_inside_loops_are_looked_into() -> None:
    loop = """
    spec: { pool: gpu }
    loop:
      in: "{{ [0, 1] }}"
      iterator: x
      spec: { mode: parallel, policy: { exec: local } }
      loop: { in: "{{ [1, 2] }}", iterator: y }
    """
    driver = Driver(pipeline("- { name: a, kind: python, code: x }", step=loop))
    found = "2 of its iterations are with no worker and not on offer"
    assert lacks(driver) == [("s#1[0]", found), ("s#1[1]", found)]
    assert mended(driver)[0] == fx.OfferWork("s#1", (0,), 2, 1, (0, 1), "gpu", ())
    rows: dict[Row, Work] = {("s#1", (0,)): Work(2, 1), ("s#1", (1,)): Work(2, 1)}
    assert lacks(driver, Rows(rows, (), ())) == []


def test_what_a_transaction_left_needs_the_timer_that_goes_on() -> None:
    driver = Short(empties(4))
    assert lacks(driver) == [("x", "a loop could go on, but no timer is set for that")]
    assert mended(driver) == [fx.SetTimer("continue", 7.0, Continue())]
    assert lacks(driver, Rows({}, [fx.SetTimer("continue", 0.0, Continue(3))], ())) == []


def test_what_was_not_decided_cannot_be_mended() -> None:
    driver = Driver(ONE)
    driver.state.runs["s#1"].boundary = e.Trigger("step.done")
    undecided = [("s#1", "what follows for this step run was not decided")]
    assert (lacks(driver), mended(driver)) == (undecided, [])
    driver.state.runs["s#1"].boundary = None
    driver.state.runs["s#1"].cursor = None
    assert (lacks(driver), mended(driver)) == (undecided, [])
    driver.state.runs.clear()
    assert lacks(driver) == [("x", "no step runs and none will; the end of the execution was not decided")]
    assert mended(driver) == []


def test_what_has_not_begun_or_has_ended_lacks_nothing() -> None:
    driver = Driver(ONE)
    driver.send(CancelExecution())
    assert lacks(driver) == []
    assert stranded(driver.program, empty("y"), NONE, 0.0) == []


def test_so_many_incidents_are_told_at_a_time_and_all_are_mended() -> None:
    names = [f"s{number}" for number in range(STRANDED_MAX + 5)]
    arcs = ", ".join(f"{{ step: {name} }}" for name in names)
    steps = "\n".join(f"- {{ step: {name}, tool: {{ kind: noop }} }}" for name in names)
    driver = Driver(playbook(f"- {{ step: z, next: {{ spec: {{ mode: inclusive }}, arcs: [ {arcs} ] }} }}\n{steps}"))
    assert len(lacks(driver)) == STRANDED_MAX
    assert len(mended(driver)) == len(names)


def test_what_is_mended_is_stranded_no_more() -> None:
    driver = half_done()
    work: dict[Row, Work] = {}
    timers = []
    for effect in mended(driver):
        if isinstance(effect, fx.OfferWork):
            carry_out(work, effect)
        elif isinstance(effect, fx.SetTimer):
            timers.append(effect)
    assert lacks(driver, Rows(work, timers, ())) == []


# ------------------------------------------------------------------------------ what parks


def test_a_bug_parks_the_execution_with_its_text() -> None:
    found = incidents.of_bug("x", "KeyError: 'a'", "Report", 5.0)
    assert (found.kind, found.execution_id, found.where, found.since) == (Kind.BUG, "x", "x", 5.0)
    assert found.message == "Report raised KeyError: 'a'"
    assert found.remedy == "report this text; resume the execution under a version that mends it, or cancel it"
    assert found.parks
    assert len(incidents.of_bug("x", "y" * 10_000, "Report", 5.0).message) == incidents.MESSAGE_CHARS_MAX


def test_an_event_that_this_version_does_not_know_parks_the_execution() -> None:
    found = incidents.of_unknown_event("x", UnknownEvent("step.jumped", 4, "its form 9 is newer than 1"), 5.0)
    assert found == Incident(
        "x",
        Kind.UNREADABLE,
        "event 4, step.jumped, cannot be read: its form 9 is newer than 1",
        5.0,
        "x:4",
        "resume the execution under the version that wrote it or a newer one, or cancel it",
    )
    assert found.parks


def test_a_damaged_event_parks_the_execution() -> None:
    found = incidents.of_damaged_event("x", 4, "z" * 10_000, 5.0)
    assert (found.kind, found.where, found.since, found.parks) == (Kind.UNREADABLE, "x:4", 5.0, True)
    assert found.message.startswith("event 4 cannot be read: zzz")
    assert len(found.message) == incidents.MESSAGE_CHARS_MAX
    assert found.remedy == "restore what is damaged from a backup and resume the execution, or cancel it"


def test_stored_data_that_is_gone_parks_the_execution() -> None:
    found = incidents.of_missing_data("x", "no sha256 abc", 5.0)
    assert (found.kind, found.where, found.since, found.parks) == (Kind.UNREADABLE, "x", 5.0, True)
    assert found.message == "a decision needs stored data: no sha256 abc"
    assert found.remedy == "restore what is missing from a backup and resume the execution, or cancel it"


def test_a_playbook_that_is_gone_parks_the_execution() -> None:
    assert incidents.of_missing_program("x", "abc", 5.0) == Incident(
        "x",
        Kind.NO_PROGRAM,
        "the playbook with digest abc is not in the catalog",
        5.0,
        "x",
        "register the playbook again, the same text, and resume the execution, or cancel it",
    )


@pytest.mark.parametrize(
    ("kind", "command", "is_refused"),
    [
        (Kind.BUG, Report("s#1", ()), True),
        (Kind.UNREADABLE, EndWait("s#1", (), "s#1.a/1"), True),
        (Kind.NO_PROGRAM, Continue(), True),
        (Kind.BUG, CancelExecution(), False),
        (Kind.STRANDED, Report("s#1", ()), False),
    ],
)
def test_a_parked_execution_takes_no_command_but_a_cancel(kind: Kind, command: Command, is_refused: bool) -> None:
    answer = incidents.refusal(Incident("x", kind, "why", 0.0), command)
    assert answer == (Rejection("parked", "execution x is parked: why") if is_refused else None)
    assert incidents.refusal(None, command) is None


def test_an_incident_survives_being_stored() -> None:
    found = incidents.of_bug("x", "KeyError", "Report", 5.0)
    assert msgspec.json.decode(msgspec.json.encode(found), type=Incident) == found


# ------------------------------------------------------------------------------ cancelling what is parked

REQUESTED = e.ExecutionRequested("demo", "d", parent=e.Parent("p", "t#1", (2,), "t#1[2].c/1", 1))


def waits(task_run_id: str, child: str | None = None, *, is_over: bool = False) -> e.TaskWaiting:
    started = e.Child(child, "child") if child is not None else None
    return e.TaskWaiting("s#1", (), task_run_id, child=started, is_over=is_over)


def test_an_execution_whose_log_cannot_be_read_is_cancelled_by_what_can() -> None:
    known: list[e.Fact] = [
        REQUESTED,
        waits("a/1", "x.1"),
        waits("b/1", "x.2"),
        waits("c/1"),
        waits("a/1", is_over=True),
        waits("c/1", is_over=True),
    ]
    answer = incidents.cancel_parked("x", known, "broken")
    assert not isinstance(answer, Rejection)
    facts, effects = answer
    driver = Driver(ONE)
    driver.send(CancelExecution("broken"))
    usual = driver.facts[-3:]
    assert isinstance(usual[1], e.WorkflowFinished)
    assert facts == [usual[0], msgspec.structs.replace(usual[1], children=("x.2",)), usual[2]]
    assert effects[:2] == [fx.EndAll(), fx.CancelChild("x.2")]
    told = effects[2]
    assert isinstance(told, fx.TellParent)
    assert (told.execution_id, told.command.step_run_id, told.command.path) == ("p", "t#1", (2,))
    assert told.command.task_run_id == "t#1[2].c/1"
    assert told.command.output is not None
    assert told.command.output.error is not None
    assert told.command.output.error.kind == "cancelled"


def test_an_execution_of_which_nothing_can_be_read_is_cancelled_too() -> None:
    answer = incidents.cancel_parked("x", [], None)
    assert not isinstance(answer, Rejection)
    assert answer[0][0] == e.ExecutionCancelled(None)
    assert answer[1] == [fx.EndAll()]


def test_what_has_ended_is_not_cancelled_again() -> None:
    known: list[e.Fact] = [REQUESTED, e.WorkflowFinished("completed", Output())]
    assert incidents.cancel_parked("x", known, None) == Rejection("ended", "execution x has ended: completed")


# ------------------------------------------------------------------------------ how it is told


def test_what_is_stranded_waits_for_an_operator_and_nothing_else() -> None:
    text = playbook("""
    - { step: z, next: { spec: { mode: inclusive }, arcs: [ { step: a }, { step: b } ] } }
    - { step: a, tool: { kind: noop } }
    - { step: b, tool: { kind: noop } }
    """)
    driver = Driver(text)
    rows = Rows({("b#1", ()): Work(1, 1)}, (), ())
    found = stranded(driver.program, driver.state, rows, 7.0)
    waits_ = explain_waits(driver.program, driver.state, found)
    reason = f"a worker should run it, but it is offered to none; {OFFER_REMEDY}"
    assert waits_ == (Wait(For.OPERATOR, "a#1", since=7.0, reason=reason), Wait(For.WORKER, "b#1"))
    assert waits_[0].text == f"a#1 waits for an operator: {reason}"


def test_a_parked_execution_waits_for_an_operator_whatever_its_state_says() -> None:
    driver = Driver(ONE)
    bug = incidents.of_bug("x", "KeyError", "Report", 5.0)
    (wait,) = explain_waits(driver.program, driver.state, [bug])
    assert wait.id == "x"
    assert wait.text == f"x waits for an operator: Report raised KeyError; {bug.remedy}"
