"""Which child a rerun would go on with: the one that the same task had started in the origin, where it was not over."""

from noetl.engine import effects as fx
from noetl.engine.commands import RequestExecution
from noetl.engine.rerun import Cut
from tests.engine.driver import Driver
from tests.engine.rerunning import rerun
from tests.engine.reruns import HEAD, Calls

KID = f"""{HEAD}
workflow:
  - step: only
    tool: {{ name: only, kind: python, code: x, input: {{ item: "{{{{ workload.item | default(0) }}}}" }} }}
"""

CALLER = f"""{HEAD}
workflow:
  - step: start
    tool: {{ kind: python, code: x }}
    next: {{ arcs: [ {{ step: call }} ] }}
  - step: call
    tool:
      name: call
      kind: playbook
      path: kid
      spec:
        policy:
          rules: [ {{ when: "{{{{ output.status == 'error' }}}}", then: {{ do: retry, attempts: 2 }} }} ]
"""

LOOP = f"""{HEAD}
workflow:
  - step: each
    loop: {{ in: [1, 2, 3], iterator: item }}
    tool: {{ name: call, kind: playbook, path: kid, input: {{ item: "{{{{ iter.item }}}}" }} }}
    next: {{ arcs: [ {{ step: after, when: "{{{{ event.name == 'loop.done' }}}}" }} ] }}
  - step: after
    tool: {{ name: call, kind: playbook, path: kid }}
"""


class Starts(Driver):
    """Notes what it would go on with, by the child that it starts."""

    before: dict[str, str]

    def carry_out(self, effect: fx.Effect) -> None:
        if isinstance(effect, fx.StartChild):
            self.before = {**getattr(self, "before", {}), effect.execution_id: effect.before}
        super().carry_out(effect)


def fails(item: int) -> Calls:
    return Calls(lambda name, given: name == "only" and given["item"] == item)


def ran(text: str, tool: Calls) -> Starts:
    return Starts(text, tool, playbooks={"kid": KID}).run()


def again(text: str, origin: Driver, cut: Cut, tool: Calls) -> Starts:
    request = rerun(origin.program, "x", origin.facts, cut, now=0.0)
    assert isinstance(request, RequestExecution), request
    return Starts(text, tool, playbooks={"kid": KID}, request=("y", request)).run()


def test_a_first_run_goes_on_with_nothing() -> None:
    assert ran(CALLER, fails(0)).before == {"x.call#1.call/1": "", "x.call#1.call/2": ""}


def test_a_call_that_failed_goes_on_and_a_further_try_of_it_begins_anew() -> None:
    driver = again(CALLER, ran(CALLER, fails(0)), Cut(), fails(0))
    assert driver.before == {"y.call#2.call/1": "x.call#1.call/", "y.call#2.call/2": ""}


def test_from_a_step_on_that_is_named_all_calls_begin_anew() -> None:
    origin = ran(CALLER, fails(0))
    for step in ("start", "call"):
        assert again(CALLER, origin, Cut(step), Calls()).before == {"y.call#2.call/1": ""}


def test_the_call_of_an_iteration_goes_on_and_what_follows_the_loop_begins_anew() -> None:
    origin = ran(LOOP, fails(2))
    assert origin.state.status == "failed"
    driver = again(LOOP, origin, Cut(), Calls())
    assert driver.before == {
        "y.each#2[1].call/1": "x.each#1[1].call/",
        "y.each#2[2].call/1": "x.each#1[2].call/",
        "y.after#1.call/1": "",
    }


def test_a_loop_of_which_nothing_is_kept_goes_on_in_its_calls_all_the_same() -> None:
    driver = again(LOOP, ran(LOOP, fails(1)), Cut(), fails(1))
    assert driver.before == {"y.each#2[0].call/1": "x.each#1[0].call/"}


def test_a_rerun_of_a_rerun_goes_on_with_the_calls_of_that() -> None:
    second = again(CALLER, ran(CALLER, fails(0)), Cut(), fails(0))
    request = rerun(second.program, "y", second.facts, Cut(), now=0.0)
    assert isinstance(request, RequestExecution)
    third = Starts(CALLER, Calls(), playbooks={"kid": KID}, request=("z", request)).run()
    assert third.before == {"z.call#3.call/1": "y.call#2.call/"}
