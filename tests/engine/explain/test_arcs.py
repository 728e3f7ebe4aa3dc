"""Why an arc was or was not taken, in words."""

from noetl.engine import events as e
from noetl.engine.envelope import stamp
from noetl.engine.explain.arcs import ArcExplained, Verdict, explain_arcs
from noetl.engine.output import Error, Output, failed
from tests.engine import playbooks
from tests.engine.driver import Driver
from tests.engine.test_snapshot import Tool


def arcs(driver: Driver, step: str, target: str | None = None) -> list[ArcExplained]:
    return list(explain_arcs(driver.program, driver.events, step, target))


def routes(mode: str, *whens: str) -> str:
    lines = "\n".join(f"        - {{ step: s{index}{when} }}" for index, when in enumerate(whens))
    targets = "\n".join(f"  - {{ step: s{index}, tool: {{ kind: noop }} }}" for index in range(len(whens)))
    return f"""{playbooks.HEAD}
workflow:
  - step: start
    tool: {{ kind: python, code: x }}
    next:
      spec: {{ mode: {mode} }}
      arcs:
{lines}
{targets}
"""


BEATEN = "was not taken: in exclusive mode the first true arc wins, and that was arc 2"
TRUE, FALSE, NONE = ", when: '{{ 1 == 1 }}'", ", when: '{{ 1 == 2 }}'", ""


def test_each_arc_says_what_became_of_it() -> None:
    driver = Driver(playbooks.PAGES, Tool()).run()
    found = arcs(driver, "fetch_all")
    assert [arc.verdict for arc in found] == [Verdict.FALSE, Verdict.TAKEN, Verdict.BEATEN]
    assert [arc.truth for arc in found] == [False, True, None]
    seq = found[0].seq
    assert [arc.text for arc in found] == [
        f"fetch_all#1 → never was not taken: its guard `{{{{ event.loop.failed > 0 }}}}` was false (event {seq})",
        f"fetch_all#1 → done was taken: its guard `{{{{ event.name == 'loop.done' }}}}` was true (event {seq})",
        f"fetch_all#1 → other {BEATEN} (event {seq})",
    ]
    assert [arc.winner for arc in found] == [None, None, 1]


def test_only_the_arcs_to_a_target_when_one_is_named() -> None:
    driver = Driver(playbooks.PAGES, Tool()).run()
    assert [arc.target for arc in arcs(driver, "fetch_all", "other")] == ["other"]


def test_in_inclusive_mode_no_arc_beats_another() -> None:
    driver = Driver(routes("inclusive", TRUE, FALSE, NONE), Tool()).run()
    assert [arc.verdict for arc in arcs(driver, "start")] == [Verdict.TAKEN, Verdict.FALSE, Verdict.TAKEN]
    assert "was taken: it has no `when` and the step succeeded" in arcs(driver, "start")[2].text


def test_after_a_failure_an_arc_without_a_guard_is_not_taken() -> None:
    driver = Driver(routes("exclusive", NONE, ", when: false"), lambda *_: failed("exception", "no")).run()
    found = arcs(driver, "start")
    assert [arc.verdict for arc in found] == [Verdict.AFTER_FAILURE, Verdict.FALSE]
    assert "the step failed, and an arc without `when` is taken on success only" in found[0].text
    assert "its guard `false` was false" in found[1].text


def test_a_guard_that_raised_is_named() -> None:
    raising = ", when: '{{ output.data.page + [] > 1 }}'"
    driver = Driver(routes("exclusive", FALSE, raising, NONE), lambda *_: Output(data={"page": 1})).run()
    assert driver.state.status == "failed"
    found = arcs(driver, "start")
    assert found[1].verdict is Verdict.RAISED
    assert driver.state.error is not None
    assert [arc.error for arc in found] == [None, driver.state.error.message, None]
    said = f"could not be decided: its guard `{{{{ output.data.page + [] > 1 }}}}` raised: {driver.state.error.message}"
    assert said in found[1].text
    assert found[2].verdict is Verdict.UNDECIDED
    assert "was not decided: the guard of another arc raised" in found[2].text


def test_a_step_whose_own_set_raised_decided_none_of_its_arcs() -> None:
    text = routes("exclusive", FALSE, TRUE).replace(
        "    next:", '    set: { ctx.x: "{{ output.data.page + [] }}" }\n    next:'
    )
    driver = Driver(text, lambda *_: Output(data={"page": 1})).run()
    found = arcs(driver, "start")
    assert [arc.verdict for arc in found] == [Verdict.UNDECIDED, Verdict.UNDECIDED]
    assert [arc.error for arc in found] == [None, None]
    assert "start#1 → s0 was not decided: the step's own `set` raised (event " in found[0].text


def test_arguments_that_raised_are_named() -> None:
    text = routes("exclusive", FALSE, ", args: { x: '{{ output.data.page + [] }}' }", NONE)
    driver = Driver(text.replace("noetl.io/v2", "noetl.io/v10"), lambda *_: Output(data={"page": 1})).run()
    found = arcs(driver, "start")
    assert [arc.verdict for arc in found] == [Verdict.FALSE, Verdict.RAISED, Verdict.UNDECIDED]
    assert "could not be decided: its `args` raised: " in found[1].text
    assert "was not decided: the args of another arc raised" in found[2].text


def test_an_error_that_names_no_place_is_laid_to_the_step() -> None:
    driver = Driver(routes("exclusive", FALSE, TRUE), Tool())
    trigger = e.Trigger("step.done", "start", "success", "start#1")
    for details in (None, {"path": "workflow/start/set"}):
        fact = e.NextEvaluated("start#1", "start", trigger, [False], (), Error("template", "no", details=details))
        events = stamp([fact], execution_id="x", after=0, timestamp=0.0, parent=None)
        found = list(explain_arcs(driver.program, events, "start"))
        assert [arc.verdict for arc in found] == [Verdict.FALSE, Verdict.UNDECIDED]


def test_a_guard_is_shown_as_it_is_written() -> None:
    driver = Driver(routes("exclusive", ', when: \'{{ "A" == "B" }}\'', ", when: true", TRUE), Tool()).run()
    found = arcs(driver, "start")
    assert 'its guard `{{ "A" == "B" }}` was false' in found[0].text
    assert "its guard `true` was true" in found[1].text


def test_the_first_arc_can_beat_the_others() -> None:
    driver = Driver(routes("exclusive", TRUE, NONE), Tool()).run()
    assert arcs(driver, "start")[1].text.startswith(f"start#1 → s1 {BEATEN.replace('arc 2', 'arc 1')} (event ")
