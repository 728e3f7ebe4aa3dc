"""Which event last wrote a value, and by what expression."""

import pytest

from noetl.engine.commands import RequestExecution
from noetl.engine.explain.writes import WriteExplained, explain_write
from noetl.engine.output import Output
from noetl.engine.rerun import Cut
from noetl.playbook.model import Reducer
from tests.engine import playbooks
from tests.engine.driver import Driver
from tests.engine.rerunning import rerun
from tests.engine.test_snapshot import Tool

SEQUENTIAL = f"""{playbooks.HEAD}
workflow:
  - step: each
    loop: {{ in: [1, 2], iterator: item }}
    tool: {{ kind: python, code: x, set: {{ ctx.last: "{{{{ iter.item }}}}" }} }}
"""

PLAIN = f"""{playbooks.HEAD}
workflow:
  - step: one
    tool:
      - name: get
        kind: python
        code: x
        set: {{ ctx.own: "{{{{ output.data }}}}", ctx.both: mine }}
        spec:
          policy:
            rules:
              - when: "{{{{ output.data == 7 }}}}"
                then: {{ do: continue, set: {{ ctx.both: "by the rule", ctx.deep.inner: 1 }} }}
    set: {{ ctx.long: "{{{{ 'x' * 100 }}}}" }}
"""


def write(driver: Driver, path: str) -> WriteExplained:
    found = explain_write(driver.program, driver.events, path)
    assert found is not None, driver.log()
    return found


def plain() -> Driver:
    return Driver(PLAIN, lambda *_: Output(data=7)).run()


def test_a_task_is_named_with_its_expression() -> None:
    found = write(plain(), "ctx.own")
    assert (found.value, found.by, found.expression) == (7, "one#1.get/1", "{{ output.data }}")
    assert found.text == (
        f"ctx.own was last written by event {found.seq}: ctx.own = 7\n"
        "  place: workflow/one/tool/get/set\n  by: one#1.get/1\n  expression: {{ output.data }}"
    )


def test_the_rule_lies_over_the_task() -> None:
    found = write(plain(), "ctx.both")
    assert (found.expression, found.place) == ("by the rule", "workflow/one/tool/get/rules/0/set")


@pytest.mark.parametrize(
    ("asked", "key"), [("ctx.deep", "ctx.deep.inner"), ("deep.inner", "ctx.deep.inner"), ("ctx.own.x.y", "ctx.own")]
)
def test_writes_around_and_inside_a_path_count(asked: str, key: str) -> None:
    assert write(plain(), asked).key == key


def test_a_steps_own_set_is_read_from_the_step() -> None:
    found = write(plain(), "ctx.long")
    assert (found.place, found.by, found.expression) == ("workflow/one/set", "one#1", "{{ 'x' * 100 }}")
    assert f"ctx.long = {'x' * 80}…\n" in found.text


def test_an_arcs_set_is_read_from_the_arc() -> None:
    found = write(Driver(playbooks.PAGES, Tool()).run(), "ctx.limits")
    assert (found.place, found.key, found.expression) == ("workflow/fetch_all/next/1/set", "ctx.limits.seen", True)


def test_a_parallel_loop_names_the_last_iteration_and_the_reducer() -> None:
    found = write(Driver(playbooks.PAGES, Tool()).run(), "ctx.total")
    assert (found.value, found.reducer, found.by) == (5, Reducer.SUM, "fetch_all#1[1].fetch/2")
    assert found.expression == "{{ iter.page }}"
    assert found.text.endswith("reduced by: sum")


def test_a_sequential_loop_names_the_iteration() -> None:
    found = write(Driver(SEQUENTIAL, Tool()).run(), "ctx.last")
    assert (found.value, found.by, found.expression) == (2, "each#1[1].each_task/1", "{{ iter.item }}")
    assert found.reducer is None


def test_writes_of_blocks_and_of_rules_before_are_found() -> None:
    driver = Driver(playbooks.BLOCKS, Tool()).run()
    assert write(driver, "ctx.added").expression == "{{ output.data }}"
    assert write(driver, "ctx.added").by == "call#1.twice/1[1].add/1"
    assert write(driver, "ctx.single").by == "call#1.once/1.single/1"
    assert write(driver, "ctx.began").expression is True
    assert write(driver, "ctx.before").expression == 1
    assert write(driver, "ctx.twice").expression == "{{ output.data }}"


LOOPED = f"""{playbooks.HEAD}
workflow:
  - step: each
    loop: {{ in: [1, 2], iterator: item, spec: {{ mode: parallel }} }}
    tool:
      - name: first
        kind: python
        code: x
        set: {{ ctx.own: same }}
        spec:
          policy:
            before:
              - when: "{{{{ iter.index == 5 }}}}"
                then: {{ do: continue }}
              - else: {{ then: {{ do: continue, set: {{ ctx.early: before }} }} }}
            rules: [ {{ else: {{ then: {{ do: continue, set: {{ ctx.late: after }} }} }} }} ]
      - name: second
        kind: workbook
        task: block
workbook:
  block:
    tool:
      - name: inner
        kind: noop
        set: {{ ctx.inner: block }}
        spec:
          policy:
            before: [ {{ else: {{ then: {{ do: skip, set: {{ ctx.skipped: skip }} }} }} }} ]
            rules: [ {{ else: {{ then: {{ do: continue }} }} }} ]
      - {{ name: plain, kind: noop, set: {{ ctx.plain: block }} }}
      - {{ name: more, kind: workbook, task: rounds }}
  rounds:
    loop: {{ in: [1, 2], iterator: round }}
    tool: {{ name: again, kind: noop, set: {{ ctx.round: same }} }}
"""


@pytest.mark.parametrize(
    ("path", "place", "by"),
    [
        ("ctx.own", "workflow/each/tool/first/set", "each#1[1].first/1"),
        ("ctx.early", "workflow/each/tool/first/before/1/set", "each#1[1].first/1"),
        ("ctx.late", "workflow/each/tool/first/rules/0/set", "each#1[1].first/1"),
        ("ctx.skipped", "workbook/block/tool/inner/before/0/set", "each#1[1].second/1.inner/1"),
        ("ctx.plain", "workbook/block/tool/plain/set", "each#1[1].second/1.plain/1"),
        ("ctx.round", "workbook/rounds/tool/again/set", "each#1[1].second/1.more/1[1].again/1"),
    ],
)
def test_in_a_loop_the_place_is_found_behind_the_merge(path: str, place: str, by: str) -> None:
    found = write(Driver(LOOPED, Tool()).run(), path)
    assert (found.place, found.by) == (place, by)
    assert found.expression == found.value


def test_a_merge_whose_tasks_are_gone_is_still_named() -> None:
    driver = Driver(SEQUENTIAL, Tool()).run()
    events = [event for event in driver.events if not event.name.startswith("task.")]
    found = explain_write(driver.program, events, "ctx.last")
    assert found is not None
    assert (found.place, found.by, found.expression) == ("workflow/each/loop", "each#1[1]", None)


def test_what_nothing_wrote_has_no_answer() -> None:
    driver = plain()
    assert explain_write(driver.program, driver.events, "ctx.ow") is None
    assert explain_write(driver.program, [], "ctx.own") is None


def test_what_a_rerun_took_over_points_to_its_origin() -> None:
    origin = Driver(playbooks.PAGES, Tool()).run()
    request = rerun(origin.program, "x", origin.facts, Cut("done"), now=0.0)
    assert isinstance(request, RequestExecution)
    driver = Driver(playbooks.PAGES, Tool(), request=("y", request)).run()
    found = write(driver, "ctx.total")
    assert found.value == 5
    assert found.origin is not None
    assert found.text == (
        f"ctx.total was last written by event {found.seq}: ctx.total = 5\n  place: the origin of this rerun\n"
        f"  taken over from: x, cut at event {found.origin.seq}"
    )
    assert explain_write(driver.program, driver.events, "ctx.nowhere") is None


AGAIN = f"""{playbooks.HEAD}
workflow:
  - step: long
    loop: {{ in: [1, 2, 3], iterator: item }}
    tool: {{ kind: python, code: x, set: {{ ctx.last: "{{{{ iter.item }}}}", ctx.mine: 1 }} }}
    next: {{ arcs: [ {{ step: short }} ] }}
  - step: short
    loop: {{ in: [8, 9], iterator: item, spec: {{ mode: parallel, policy: {{ reduce: {{ last: max }} }} }} }}
    tool: {{ kind: python, code: x, set: {{ ctx.last: "{{{{ iter.item }}}}" }} }}
    set: {{ ctx.mine: 2 }}
    next: {{ arcs: [ {{ step: one }} ] }}
  - step: one
    tool: {{ kind: python, code: x, set: {{ ctx.mine: 3 }} }}
    set: {{ ctx.mine: "{{{{ 2 * 2 }}}}" }}
"""


def test_writes_of_other_runs_to_the_same_key_are_not_mistaken_for_the_last() -> None:
    driver = Driver(AGAIN, Tool()).run()
    assert write(driver, "ctx.last").by == "short#1[1].short_task/1"
    found = write(driver, "ctx.mine")
    assert (found.place, found.by, found.expression) == ("workflow/one/set", "one#1", "{{ 2 * 2 }}")


def test_a_value_is_shown_up_to_a_length() -> None:
    def told(size: int) -> str:
        return WriteExplained("ctx.a", "ctx.a", "x" * size, 1, "x/1", "p").text

    assert told(80) == f"ctx.a was last written by event 1: ctx.a = {'x' * 80}\n  place: p"
    assert f"ctx.a = {'x' * 80}…" in told(81)
