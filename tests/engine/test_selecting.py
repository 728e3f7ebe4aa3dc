"""What an author selects is read as `output.data.<name>` by everyone, whatever the data is and however large."""

from collections.abc import Mapping
from operator import attrgetter

import pytest

from noetl.engine import events as e
from noetl.engine.lifted import Lifted
from noetl.engine.output import Output, Status
from noetl.engine.reference import External, decode_value, encode_value
from noetl.engine.selecting import SELECTED_BYTES_MAX
from noetl.engine.size import PAYLOAD_BYTES_MIN, Spill, fit, hydrate
from tests.engine import playbooks
from tests.engine.driver import Driver, fails
from tests.engine.test_spilling import Spilling

HEAD = playbooks.HEAD
SELECT = '{ result: { select: { count: "{{ output.data | length }}", id: "{{ workload.id }}" } } }'

EVERYWHERE = f"""{HEAD}
workload: {{ id: 7 }}
workflow:
  - step: get
    tool:
      - name: get
        kind: python
        code: x
        spec:
          result: {{ select: {{ count: "{{{{ output.data | length }}}}", id: "{{{{ workload.id }}}}" }} }}
          policy:
            rules:
              - when: "{{{{ output.data.count == 5000 or output.data.count == 2 }}}}"
                then: {{ do: continue, set: {{ ctx.rule: "{{{{ output.data.count }}}}" }} }}
              - else: {{ then: {{ do: fail }} }}
        set: {{ ctx.task: "{{{{ output.data['count'] }}}}", ctx.all: "{{{{ output.data }}}}" }}
    set: {{ ctx.step: "{{{{ output.data.count }}}}" }}
    next:
      arcs:
        - step: never
          when: "{{{{ output.data.count != ctx.rule or get.data.id != 7 }}}}"
        - step: use
          when: "{{{{ output.data.id == 7 and output.status == 'ok' and get.ref is not undefined }}}}"
          set: {{ ctx.arc: "{{{{ output.data.count }}}}" }}
  - step: never
    tool: {{ kind: noop }}
  - step: use
    input: {{ server: "{{{{ get.data.count }}}}", whole: "{{{{ get.data }}}}" }}
    tool:
      - name: other
        kind: python
        code: x
        input: {{ worker: "{{{{ get.data.count }}}}", by_step: "{{{{ get.data }}}}", by_ctx: "{{{{ ctx.all }}}}" }}
"""

PIPELINE = f"""{HEAD}
workload: {{ id: 7 }}
workflow:
  - step: one
    tool:
      - {{ name: get, kind: KIND, KIND_FIELDS, spec: {SELECT} }}
      - name: nap
        kind: noop
        spec:
          policy:
            before:
              - when: "{{{{ output.data.count > 0 }}}}"
                then: {{ do: continue, set: {{ ctx.before: "{{{{ output.data.id }}}}" }} }}
            rules: [ {{ else: {{ then: {{ do: continue }} }} }} ]
      - name: other
        kind: python
        code: x
        input: {{ named: "{{{{ get.data.count }}}}", prev: "{{{{ PREV.count }}}}", all: "{{{{ PREV }}}}" }}
"""


class Tools:
    def __init__(self, data: object) -> None:
        self.data = data
        self.given: Mapping[str, object] = {}

    def __call__(self, name: str, _fields: Mapping[str, object], given: Mapping[str, object]) -> Output:
        if name == "other":
            self.given = given
        return Output(data=self.data)


def ended(driver: Driver) -> Driver:
    while not driver.state.has_ended:
        assert driver.step()
    return driver


DATA = {
    "a small mapping": {"a": 1, "b": 2},
    "a small mapping with a key of that name": {"count": "no", "b": 2},
    "a small list": [1, 2],
    "a small text": "ab",
    "a large mapping": {f"k{number}": number for number in range(5_000)},
    "a large mapping with a key of that name": {"count": "x"} | {f"k{number}": number for number in range(4_999)},
    "a large list": list(range(5_000)),
    "a large text": "x" * 5_000,
}


@pytest.mark.parametrize("data", DATA.values(), ids=DATA)
@pytest.mark.parametrize("kind", [Driver, Spilling])
def test_every_reader_finds_the_selected_value(
    kind: type[Driver], data: dict[str, object] | list[object] | str
) -> None:
    tools = Tools(data)
    driver = ended(kind(EVERYWHERE, tools))
    assert driver.state.status == "completed", driver.log()
    count = len(data)
    found = {name: driver.state.ctx[name] for name in ("rule", "task", "step", "arc")}
    assert found == {"rule": count, "task": count, "step": count, "arc": count}
    assert tools.given["server"] == tools.given["worker"] == count
    assert tools.given["whole"] == tools.given["by_step"] == tools.given["by_ctx"] == data
    assert isinstance(driver, Spilling) is False or max(attrgetter("sizes")(driver)) <= PAYLOAD_BYTES_MIN
    driver.check()


@pytest.mark.parametrize("data", DATA.values(), ids=DATA)
@pytest.mark.parametrize(
    ("head", "kind", "fields", "prev"),
    [
        ("v2", "python", "code: x", "_prev"),
        ("v10", "python", "code: x", "_prev"),
        ("v10", "http", "url: x", "_prev.data"),
    ],
)
def test_later_tasks_of_the_pipeline_find_it_too(
    head: str, kind: str, fields: str, prev: str, data: dict[str, object] | list[object] | str
) -> None:
    text = PIPELINE.replace("noetl.io/v2", f"noetl.io/{head}").replace("KIND_FIELDS", fields)
    tools = Tools(data)
    driver = ended(Spilling(text.replace("KIND", kind).replace("PREV", prev), tools))
    assert tools.given == {"named": len(data), "prev": len(data), "all": data}, driver.log()
    assert driver.state.ctx["before"] == 7


@pytest.mark.parametrize(("kind", "path"), [("python", "outcome.result.count"), ("http", "outcome.result.data.count")])
def test_the_words_of_v10_find_it(kind: str, path: str) -> None:
    fields = {"python": "code: x", "http": "url: x"}[kind]
    text = f"""{HEAD.replace("noetl.io/v2", "noetl.io/v10")}
workload: {{ id: 7 }}
workflow:
  - step: get
    tool: {{ name: get, kind: {kind}, {fields}, spec: {SELECT}, set_ctx: {{ worker: "{{{{ {path} }}}}" }} }}
    next: {{ arcs: [ {{ step: end, when: "{{{{ {path} == 3 and output.data.count == 3 }}}}" }} ] }}
  - {{ step: end, tool: {{ kind: noop }} }}
"""
    driver = ended(Spilling(text, Tools([1, 2, 3])))
    assert driver.state.ctx == {"worker": 3}
    assert "end#1" in driver.log()


def one_task(spec: str, *, more: str = "") -> str:
    return f"""{HEAD}
workflow:
  - step: one
    tool: {{ name: get, kind: python, code: x, spec: {spec} }}
{more}"""


def test_what_else_is_in_large_data_is_still_not_read_on_the_server() -> None:
    more = '    next: { arcs: [ { step: one, when: "{{ output.data.k1 }}" } ] }\n'
    text = one_task('{ result: { select: { n: "{{ output.data.k1 }}" } } }', more=more)
    driver = ended(Spilling(text, Tools({f"k{number}": number for number in range(5_000)})))
    assert driver.state.error is not None
    assert driver.state.error.kind == "data_by_reference"
    assert "`spec.result.select`" in driver.state.error.message


def test_a_template_that_raises_is_an_error_of_the_task_that_its_rules_see() -> None:
    text = one_task('{ result: { select: { n: "{{ output.data.nope }}" } } }')
    driver = ended(Driver(text, Tools({"a": 1})))
    error = driver.state.error
    assert error is not None
    assert error.kind == "template"
    assert "playbook.yaml:8:" in error.message
    assert "`output.data` has no key nope. There is: a, in `{{ output.data.nope }}`" in error.message
    rules = "{ rules: [ { when: \"{{ output.error.kind == 'template' }}\", then: { do: break } } ] }"
    ruled = ended(Driver(text.replace("} } } }", "} }, policy: " + rules + " } }"), Tools({"a": 1})))
    assert ruled.state.status == "completed"
    assert ruled.data == {"a": 1}


@pytest.mark.parametrize(("over", "status"), [(0, "completed"), (1, "failed")])
def test_selected_values_are_bounded_in_all_and_the_largest_is_named(over: int, status: str) -> None:
    text = one_task('{ result: { select: { few: "{{ output.data.few }}", many: "{{ output.data.many }}" } } }')
    data = {"few": "x" * 98, "many": "x" * (SELECTED_BYTES_MAX - 102 + over)}
    driver = ended(Driver(text, Tools(data)))
    assert driver.state.status == status
    if over:
        assert driver.state.error is not None
        assert driver.state.error.message.endswith(
            "`spec.result.select` may give 16,384 bytes in all and gave 16,385; `many` is the largest of them with "
            "16,285. Select less of it, such as a count"
        )


def test_nothing_is_selected_from_an_error_or_from_a_task_without_data() -> None:
    text = f"""{HEAD}
executor: {{ spec: {{ result: {{ select: {{ n: "{{{{ output.data.n }}}}" }} }} }} }}
workflow:
  - step: one
    tool:
      - {{ name: nap, kind: noop }}
      - name: get
        kind: python
        code: x
        spec: {{ policy: {{ rules: [ {{ else: {{ then: {{ do: break }} }} }} ] }} }}
"""
    driver = ended(Driver(text, lambda *_: fails()))
    assert driver.state.status == "completed", driver.log()
    assert driver.state.output.status is Status.ERROR
    assert driver.state.output.selected == {}


LAYERED = f"""{HEAD}
executor:
  spec:
    result: {{ select: {{ a: "executor", b: "executor", c: "executor", d: "executor" }} }}
    python: {{ result: {{ select: {{ e: "{{{{ output.data.nope }}}}" }} }} }}
workflow:
  - step: one
    spec: {{ result: {{ select: {{ b: "step", c: "step", d: "step" }} }} }}
    loop: {{ in: [1], iterator: n, spec: {{ result: {{ select: {{ c: "loop {{{{ iter.n }}}}", d: "loop" }} }} }} }}
    tool:
      name: get
      kind: python
      code: x
      spec: {{ result: {{ select: {{ d: "task" }} }} }}
      set: {{ iter.x: "{{{{ [output.data.a, output.data.b, output.data.c, output.data.d] | join(' ') }}}}" }}
"""


def test_names_are_layered_like_other_knobs_and_errors_point_to_the_layer() -> None:
    driver = ended(Driver(LAYERED, Tools({"nope": 1})))
    done = next(fact for fact in driver.facts if isinstance(fact, e.TaskDone))
    assert done.patch.iter == {"x": "executor step loop 1 task"}
    assert done.output.selected["e"] == 1
    failed = ended(Driver(LAYERED, Tools({})))
    assert failed.state.error is not None
    line = next(number for number, text in enumerate(LAYERED.splitlines(), 1) if "output.data.nope" in text)
    assert f"playbook.yaml:{line}:" in failed.state.error.message


def test_a_block_hands_on_what_it_selected_and_its_caller_adds_to_it() -> None:
    text = f"""{HEAD}
workflow:
  - step: one
    tool:
      - name: call
        kind: workbook
        task: block
        spec: {{ result: {{ select: {{ more: "{{{{ output.data.count + 1 }}}}" }} }} }}
    next: {{ arcs: [ {{ step: two, when: "{{{{ output.data.count == 3 and output.data.more == 4 }}}}" }} ] }}
  - {{ step: two, tool: {{ kind: noop }} }}
workbook:
  block:
    tool:
      name: get
      kind: python
      code: x
      spec: {{ result: {{ select: {{ count: "{{{{ output.data | length }}}}" }} }} }}
"""
    assert "two#1" in ended(Spilling(text, Tools(["x" * 3_000] * 3))).log()


@pytest.mark.parametrize("returned", ["", ", return_step: get"])
def test_a_caller_of_a_playbook_reads_what_the_child_selected(returned: str) -> None:
    child = f"""{HEAD}
workload: {{ id: 7 }}
workflow:
  - step: get
    tool: {{ name: get, kind: python, code: x, spec: {SELECT} }}
"""
    text = f"""{HEAD}
workflow:
  - step: call
    tool: {{ kind: playbook, path: child{returned} }}
    next: {{ arcs: [ {{ step: end, when: "{{{{ output.data.count == 3 }}}}" }} ] }}
  - {{ step: end, tool: {{ kind: noop }} }}
"""
    driver = Driver(text, Tools([1, 2, 3]), playbooks={"child": child}).run()
    assert "end#1" in driver.log()


def test_an_output_that_a_rerun_takes_over_keeps_its_selected_values_when_its_data_is_stored() -> None:
    outputs = {"get": Lifted({"data": "x" * 9_000, "ref": None, "status": "ok"}, {"n": 1}, (("data",),))}
    spill = Spill(PAYLOAD_BYTES_MIN)
    fact = spill(e.WorkflowStarted("get", e.Seed((), {}, outputs, {}, Output())))
    assert isinstance(fact, e.WorkflowStarted)
    assert fact.seed is not None
    kept = fact.seed.outputs["get"]
    assert isinstance(kept, Lifted)
    assert isinstance(kept.member("data"), Lifted)
    assert kept.names == {"n": 1}
    assert isinstance(kept.value, dict)
    assert isinstance(kept.value["data"], External)
    decoded = decode_value(encode_value(kept))
    assert decoded == kept
    blobs = {blob.sha256: blob.data for blob in spill.blobs.values()}
    assert hydrate(decoded, lambda reference: blobs[str(reference.locator["sha256"])]) == outputs["get"]


def test_selected_values_are_never_stored_elsewhere_themselves() -> None:
    output = Output(data="x" * 2_000, selected={"text": "y" * 3_500})
    fitted = fit(e.StepDone("get#1", output), PAYLOAD_BYTES_MIN).fact
    assert isinstance(fitted, e.StepDone)
    assert isinstance(fitted.output.data, External)
    assert fitted.output.selected == output.selected
