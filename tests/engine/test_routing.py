"""After a step: its set, its arcs, the tokens they send."""

import pytest

from noetl.engine import events as e
from noetl.engine.output import Output, failed
from noetl.engine.reference import External, Reference, ReferenceMeta
from tests.engine.driver import Driver, fails
from tests.engine.logs import only
from tests.engine.texts import Answers, playbook, run

TOOL = "tool: { name: t, kind: python, code: x }"


def routed(arcs: str, mode: str = "", keys: str = TOOL) -> str:
    spec = f"spec: {{ mode: {mode} }}, " if mode else ""
    return playbook(
        f"""
        - step: a
          {keys}
          next: {{ {spec}arcs: [ {arcs} ] }}
        - {{ step: b, tool: {{ kind: noop }} }}
        - {{ step: c, tool: {{ kind: noop }} }}
        """
    )


def test_exclusive_takes_the_first_arc_that_is_true_and_evaluates_no_further() -> None:
    arcs = '{ step: b, when: "{{ output.data == 2 }}" }, { step: c, when: "{{ output.data == 1 }}" }, { step: b }'
    driver = run(routed(arcs), t=1)
    assert only(driver.facts, "next", "step.sch") == (
        "step.scheduled a#1\nnext.evaluated a#1 [no,yes,?]\nstep.scheduled c#1\nnext.evaluated c#1 []"
    )


def test_inclusive_takes_all_arcs_that_are_true() -> None:
    arcs = "{ step: b }, { step: c, when: false }, { step: c, when: true }"
    driver = run(routed(arcs, "inclusive"), t=1)
    assert only(driver.facts, "next", "step.sch") == (
        "step.scheduled a#1\n"
        "next.evaluated a#1 [yes,no,yes]\n"
        "step.scheduled b#1\n"
        "step.scheduled c#1\n"
        "next.evaluated b#1 []\n"
        "next.evaluated c#1 []"
    )


def test_tokens_arrive_in_the_order_of_their_arcs() -> None:
    driver = run(routed("{ step: b }, { step: c }, { step: b }", "inclusive"))
    assert only(driver.facts, "step.sch").splitlines()[1:] == [
        f"step.scheduled {run_id}" for run_id in ("b#1", "c#1", "b#2")
    ]


def test_no_arc_taken_after_success_ends_the_branch_and_its_output_is_that_of_the_execution() -> None:
    driver = run(routed("{ step: b, when: false }"), t=5)
    assert (driver.state.status, driver.data) == ("completed", 5)


def test_the_output_of_the_execution_is_that_of_the_last_leaf_to_finish() -> None:
    text = playbook(
        """
        - { step: a, next: { spec: { mode: inclusive }, arcs: [ { step: b }, { step: c } ] } }
        - { step: b, tool: { name: b, kind: python, code: x } }
        - { step: c, tool: { name: c, kind: python, code: x } }
        """
    )
    driver = Driver(text, Answers(b="b", c="c"))
    runs = driver.state.runs
    driver.move(runs["c#1"])
    driver.move(runs["c#1"])
    driver.run()
    assert driver.data == "b"


def test_an_arc_without_when_is_not_taken_after_a_failure() -> None:
    driver = run(routed("{ step: b }, { step: c, when: \"{{ event.name == 'step.failed' }}\" }"), t=fails())
    assert only(driver.facts, "next").splitlines()[0] == "next.evaluated a#1 [no,yes]"
    assert driver.state.status == "completed"


def test_the_event_of_a_failure_tells_all_of_its_error() -> None:
    driver = run(routed('{ step: b, when: true, set: { ctx.e: "{{ event.error }}" } }'), t=fails())
    assert driver.state.ctx == {"e": {"kind": "exception", "message": "it broke", "retryable": False, "details": None}}


def test_an_arc_that_is_always_true_is_taken_after_a_failure_too() -> None:
    assert run(routed('{ step: b, when: "{{ true }}" }'), t=fails()).state.status == "completed"


def test_a_failure_that_no_arc_takes_fails_the_execution_and_ends_what_still_runs() -> None:
    text = playbook(
        """
        - { step: a, next: { spec: { mode: inclusive }, arcs: [ { step: b }, { step: c } ] } }
        - { step: b, tool: { name: b, kind: python, code: x } }
        - { step: c, tool: { name: c, kind: python, code: x } }
        """
    )
    driver = run(text, b=fails("crash", "bad luck"))
    assert driver.state.status == "failed"
    assert driver.state.runs == {}
    assert driver.state.output.error is not None
    assert driver.state.output.error.message == "bad luck"
    assert driver.state.error is not None
    assert driver.state.error.details == {"step_run_id": "b#1"}
    assert (
        only(driver.facts, "workflow.f", "playbook.p") == "workflow.finished failed !crash\nplaybook.processed failed"
    )


def test_the_set_of_a_step_applies_before_its_arcs_and_theirs_before_the_next_step() -> None:
    text = playbook(
        """
        - step: a
          tool: { name: t, kind: python, code: x }
          set: { ctx.x: "{{ output.data }}", step.y: "{{ output.data + 1 }}" }
          next:
            arcs:
              - { step: b, when: "{{ ctx.x == 1 and step.y == 2 }}", set: { ctx.z: "{{ step.y }}", step.y: 9 } }
        - { step: b, input: { x: "{{ ctx.x }}", z: "{{ ctx.z }}" }, tool: { kind: noop } }
        """
    )
    driver = run(text, t=1)
    assert only(driver.facts, "step.done", "ctx", "next", "step.sch").splitlines()[1:6] == [
        "step.done a#1 1",
        'ctx.patched {"x":1} by workflow/a/set',
        "next.evaluated a#1 [yes]",
        'ctx.patched {"z":2} by workflow/a/next/0/set',
        'step.scheduled b#1 {"x":1,"z":2}',
    ]


def test_the_sets_of_several_arcs_apply_in_order_and_see_one_another() -> None:
    last = '{ step: c, set: { ctx.x: "{{ ctx.x + step.s }}" } }'
    arcs = f"{{ step: b, set: {{ ctx.x: 1 }} }}, {{ step: c, set: {{ step.s: 1 }} }}, {last}"
    assert run(routed(arcs, "inclusive")).state.ctx == {"x": 2}


def test_the_set_of_an_arc_that_is_not_taken_does_not_apply() -> None:
    arcs = "{ step: b, when: '{{ 1 > 2 }}', set: { ctx.x: 1 } }, { step: c }, { step: b, set: { ctx.y: 1 } }"
    assert run(routed(arcs)).state.ctx == {}


def test_a_failure_that_no_arc_takes_keeps_the_details_of_its_error() -> None:
    driver = run(routed("{ step: b }"), t=failed("sql", "refused", details={"sqlstate": "23505"}))
    assert driver.state.error is not None
    assert driver.state.error.details == {"sqlstate": "23505", "step_run_id": "a#1"}


def test_the_set_of_a_step_does_not_apply_after_a_failure_but_that_of_its_arc_does() -> None:
    keys = f"{TOOL}\n          set: {{ ctx.done: true }}"
    driver = run(
        routed('{ step: b, when: true, set: { ctx.failed: "{{ output.error.kind }}" } }', keys=keys), t=fails()
    )
    assert driver.state.ctx == {"failed": "exception"}


def test_a_set_that_writes_only_to_step_changes_no_ctx() -> None:
    keys = f"{TOOL}\n          set: {{ step.x: 1 }}"
    driver = run(routed('{ step: b, when: "{{ step.x == 1 }}" }', keys=keys))
    assert only(driver.facts, "ctx") == ""
    assert "step.scheduled b#1" in driver.log()


def test_the_set_of_a_loop_step_applies_once_with_the_output_of_the_loop() -> None:
    keys = """
          tool: { name: t, kind: python, code: x }
          loop: { in: "{{ [1, 2] }}", iterator: i }
          set: { ctx.all: "{{ output.data }}", ctx.n: "{{ output.loop.total }}" }
    """.strip()
    driver = run(
        routed("{ step: b, when: \"{{ event.name == 'loop.done' and event.loop.succeeded == 2 }}\" }", keys=keys), t=7
    )
    assert driver.state.ctx == {"all": [7, 7], "n": 2}
    assert "step.scheduled b#1" in driver.log()


def test_a_guard_sees_event_output_input_step_ctx_workload_and_finished_steps() -> None:
    text = playbook(
        """
        - step: a
          input: { n: 3 }
          tool: { name: t, kind: python, code: x }
          next:
            arcs:
              - step: b
                when: >-
                  {{ event.name == 'step.done' and event.step == 'a' and event.status == 'success'
                     and event.step_run_id == 'a#1' and event.error == none and event.loop == none
                     and output.data == 1 and input.n == 3 and workload.w == 4 and w == 4
                     and a.data == 1 and execution_id == 'x' }}
        - step: b
          tool: { name: u, kind: python, code: x }
          next: { arcs: [ { step: c, when: "{{ a.data == 1 and b.status == 'ok' and event.step == 'b' }}" } ] }
        - { step: c, tool: { kind: noop } }
        """,
        head="workload: { w: 4 }",
    )
    assert "step.scheduled c#1" in run(text, t=1).log()


def test_v10_arguments_overlay_those_of_the_token_and_reach_the_next_steps() -> None:
    text = playbook(
        """
        - step: a
          tool: { name: t, kind: python, code: x }
          next: { arcs: [ { step: b, args: { x: "{{ outcome.result }}", y: 1 } } ] }
        - step: b
          args: { own: "{{ args.x + 1 }}" }
          tool: { kind: noop }
          next: { arcs: [ { step: c, when: "{{ outcome.status == 'ok' }}", args: { y: "{{ args.y + 1 }}" } } ] }
        - { step: c, tool: { name: u, kind: python, code: x } }
        """,
        version="v10",
    )
    driver = run(text, t=5)
    assert only(driver.facts, "step.sch") == (
        'step.scheduled a#1\nstep.scheduled b#1 {"x":5,"y":1,"own":6}\nstep.scheduled c#1 {"x":5,"y":2}'
    )


def test_a_guard_that_raises_fails_the_execution_and_says_which_arc() -> None:
    driver = run(routed('{ step: b, when: false }, { step: c, when: "{{ ctx.x + 1 > 0 }}" }, { step: b }'))
    assert "next.evaluated a#1 [no,?,?] !template" in driver.log()
    assert driver.state.error is not None
    assert driver.state.error.message.startswith("arc 2 of step `a`, to `c`: playbook.yaml:8:")
    assert isinstance(driver.state.error.details, dict)
    assert driver.state.error.details["path"] == "workflow/a/next/1/when"


@pytest.mark.parametrize(
    ("arcs", "keys", "path", "evaluated"),
    [
        (
            "{ step: b }",
            f'{TOOL}\n          set: {{ ctx.y: "{{{{ ctx.x }}}}" }}',
            "workflow/a/set/ctx.y",
            "[?] !template",
        ),
        ('{ step: b, set: { ctx.y: "{{ ctx.x }}" } }', TOOL, "workflow/a/next/0/set/ctx.y", "[yes]"),
    ],
)
def test_a_set_on_the_server_that_raises_fails_the_execution(arcs: str, keys: str, path: str, evaluated: str) -> None:
    driver = run(routed(arcs, keys=keys))
    assert driver.state.status == "failed"
    assert f"next.evaluated a#1 {evaluated}" in driver.log()
    assert driver.state.error is not None
    assert isinstance(driver.state.error.details, dict)
    assert driver.state.error.details["path"] == path
    assert "step.scheduled b#1" not in driver.log()


def test_a_routing_step_ends_at_once_on_the_server() -> None:
    driver = Driver(playbook("- { step: a, next: { arcs: [ { step: b } ] } }\n- { step: b, tool: { kind: noop } }"))
    done = next(fact for fact in driver.facts if isinstance(fact, e.StepDone))
    assert done.by_server
    assert list(driver.state.runs) == ["b#1"]


def test_every_run_of_a_step_has_a_number_of_its_own() -> None:
    text = playbook(
        """
        - step: a
          tool: { kind: noop }
          set: { ctx.n: "{{ (ctx.n | default(0)) + 1 }}" }
          next: { arcs: [ { step: a, when: "{{ ctx.n < 3 }}" } ] }
        """
    )
    driver = run(text)
    assert only(driver.facts, "step.sch") == "step.scheduled a#1\nstep.scheduled a#2\nstep.scheduled a#3"


def test_data_kept_elsewhere_cannot_be_read_in_a_guard_and_the_message_says_what_to_do() -> None:
    stored = External(Reference("blob", {}, meta=ReferenceMeta(bytes=70_000)))
    driver = run(routed('{ step: b, when: "{{ output.data.id == 1 }}" }'), t=Output(data=stored))
    assert driver.state.error is not None
    assert driver.state.error.kind == "data_by_reference"
    assert "`spec.result.select`" in driver.state.error.message
