"""The engine with a tiny limit comes to the same end as without one: storing data elsewhere changes nothing."""

from collections.abc import Mapping

import pytest

from noetl.engine import cursor as cursors
from noetl.engine import events as e
from noetl.engine.commands import Command, Rejection, Report
from noetl.engine.decide import Surroundings, transact
from noetl.engine.envelope import stamp
from noetl.engine.kept import kept_outputs
from noetl.engine.output import Output
from noetl.engine.reference import External, Loss, Lost, Reference
from noetl.engine.size import PAYLOAD_BYTES_MIN, Spill, fit, hydrate, store
from noetl.engine.state import StepRun
from noetl.engine.workerside import Given
from tests.engine import playbooks
from tests.engine.driver import Driver
from tests.engine.stores import Blobs


class Spilling(Driver):
    """A worker hydrates what it is given and stores what it reports; the server fits what it decides."""

    store: Blobs
    sizes: list[int]

    def send(self, command: Command) -> Rejection | None:
        if not hasattr(self, "store"):
            self.store = Blobs()
            self.stored = self.store
            self.sizes = []
        if isinstance(command, Report):
            command = Report(command.step_run_id, [self.small(fact) for fact in command.facts])  # type: ignore[misc]
        spill = Spill(PAYLOAD_BYTES_MIN, kept_outputs(self.playbook).steps)
        answer = transact(self.program, self.state, command, Surroundings(self.now, self.store, spill))
        assert not isinstance(answer, Rejection), answer
        self.store.keep(*spill.blobs.values())
        self.sizes += [len(payload) for payload in spill.payloads]
        name, after = self.state.execution_id, len(self.events)
        self.events += stamp(answer, execution_id=name, after=after, timestamp=self.now, parent=None)
        return None

    def small(self, fact: e.Fact) -> e.Fact:
        fitted = fit(fact, PAYLOAD_BYTES_MIN)
        self.store.keep(*fitted.blobs)
        return fitted.fact

    def given(self, run: StepRun, path: e.Path) -> Given:
        found = hydrate(super().given(run, path), self.store.fetch)
        assert isinstance(found, Given)
        return found

    def in_hand(self, cursor: cursors.Cursor) -> cursors.Cursor:
        whole = hydrate(cursor, self.store.fetch)
        assert isinstance(whole, cursors.Cursor)
        return whole


BIG = f"""{playbooks.HEAD}
workload: {{ rows: [] }}
workflow:
  - step: load
    tool:
      - name: get
        kind: python
        code: x
        set: {{ step.mine: "{{{{ output.data }}}}", ctx.raw: "{{{{ output.data }}}}" }}
      - {{ name: use, kind: python, code: x, input: {{ rows: "{{{{ _prev }}}}", mine: "{{{{ step.mine }}}}" }} }}
    next: {{ arcs: [ {{ step: each }} ] }}
  - step: each
    input: {{ again: "{{{{ ctx.raw }}}}" }}
    loop:
      in: "{{{{ workload.rows }}}}"
      iterator: row
      spec: {{ mode: parallel, max_in_flight: 3, policy: {{ reduce: {{ all: append }} }} }}
    tool:
      - {{ name: work, kind: python, code: x, input: {{ row: "{{{{ iter.row }}}}", raw: "{{{{ ctx.raw }}}}" }} }}
      - {{ name: note, kind: noop, set: {{ ctx.all: "{{{{ _prev }}}}" }} }}
    next: {{ arcs: [ {{ step: last }} ] }}
  - step: last
    tool:
      kind: python
      code: x
      input:
        all: "{{{{ ctx.all }}}}"
        each: "{{{{ each.data }}}}"
        load: "{{{{ load.data }}}}"
        raw: "{{{{ ctx.raw }}}}"
"""


class Echo:
    def __init__(self, size: int) -> None:
        self.size = size
        self.calls: list[tuple[str, Mapping[str, object]]] = []

    def __call__(self, name: str, _fields: Mapping[str, object], given: Mapping[str, object]) -> Output:
        self.calls.append((name, given))
        return Output(data={"by": name, "pad": "x" * self.size, "row": given.get("row"), "$noetl": "data"})


@pytest.mark.parametrize("size", [0, 1_000, 10_000])
def test_every_tool_sees_the_same_and_no_event_is_large(size: int) -> None:
    rows = [{"n": number, "text": "y" * size} for number in range(5)]
    plain, spilled = Echo(size), Echo(size)
    Driver(BIG, plain, {"rows": rows}).run()
    driver = Spilling(BIG, spilled, {"rows": rows})
    while not driver.state.has_ended:
        assert driver.step()
    assert spilled.calls == plain.calls
    assert [name for name, _ in spilled.calls] == ["get", "use", *["work"] * 5, "last_task"]
    assert max(driver.sizes) <= PAYLOAD_BYTES_MIN
    assert bool(driver.store.blobs) == (size > 0)


TWICE = f"""{playbooks.HEAD}
workflow:
  - step: one
    loop:
      in: "{{{{ range(9) | list }}}}"
      iterator: n
      spec: {{ mode: parallel, policy: {{ reduce: {{ all: REDUCER }} }} }}
    tool: {{ kind: python, code: x, input: {{ n: "{{{{ iter.n }}}}" }}, set: {{ ctx.all: "{{{{ output.data }}}}" }} }}
    next: {{ arcs: [ {{ step: two }} ] }}
  - step: two
    loop:
      in: "{{{{ range(9) | list }}}}"
      iterator: n
      spec: {{ mode: parallel, policy: {{ reduce: {{ all: REDUCER }} }} }}
    tool: {{ kind: python, code: x, input: {{ n: "{{{{ iter.n }}}}" }}, set: {{ ctx.all: "{{{{ output.data }}}}" }} }}
"""


@pytest.mark.parametrize(
    ("reducer", "pad", "result"),
    [
        ("append", 500, [{"n": number % 9, "pad": "x" * 500} for number in range(18)]),
        ("append", 5_000, [{"n": number % 9, "pad": "x" * 5_000} for number in range(18)]),
        ("merge", 5_000, {"n": 8, "pad": "x" * 5_000}),
        ("last", 5_000, {"n": 8, "pad": "x" * 5_000}),
    ],
)
def test_a_reducer_goes_on_from_data_that_is_stored_elsewhere(reducer: str, pad: int, result: object) -> None:
    def tool(_name: str, _fields: object, given: Mapping[str, object]) -> Output:
        return Output(data={"n": given["n"], "pad": "x" * pad})

    driver = Spilling(TWICE.replace("REDUCER", reducer), tool).run()
    assert driver.state.status == "completed", driver.state.error
    assert isinstance(driver.state.ctx["all"], External)
    assert hydrate(driver.state.ctx["all"], driver.store.fetch) == result
    assert max(driver.sizes) <= PAYLOAD_BYTES_MIN


def test_a_reducer_that_needs_a_mapping_is_told_what_was_stored_elsewhere() -> None:
    text = TWICE.replace("all: REDUCER", "other: append", 1).replace("REDUCER", "merge")
    text = text.replace("mode: parallel", "mode: sequential", 1)
    answers = iter([[1] * 9_000] * 9)
    driver = Spilling(text, lambda *_: Output(data=next(answers, {}))).run()
    assert driver.state.error is not None
    assert driver.state.error.kind == "ctx_conflict"
    assert "`ctx.all` held a list before the loop, where `merge` needs a mapping" in driver.state.error.message


def test_equal_values_do_not_clash_though_only_some_are_stored_elsewhere() -> None:
    text = f"""{playbooks.HEAD}
workflow:
  - step: one
    loop: {{ in: [1, 2, 3], iterator: n, spec: {{ mode: parallel }} }}
    tool:
      kind: python
      code: x
      input: {{ n: "{{{{ iter.n }}}}" }}
      set: {{ ctx.same: "{{{{ output.data.same }}}}", iter.rest: "{{{{ output.data.rest }}}}" }}
"""

    def tool(_name: str, _fields: object, given: Mapping[str, object]) -> Output:
        rest = "y" * (2_400 if given["n"] == 2 else 0)
        return Output(data={"same": "x" * 2_500, "rest": rest})

    driver = Spilling(text, tool).run()
    assert driver.state.status == "completed", driver.state.error
    writes = [fact.ctx["same"] for fact in driver.facts if isinstance(fact, e.IterationDone)]
    assert [isinstance(value, External) for value in writes] == [False, True, False]


NESTED = f"""{playbooks.HEAD}
workflow:
  - step: each
    loop:
      in: "{{{{ workload.rows }}}}"
      iterator: row
      loop: {{ in: "{{{{ iter.row.parts }}}}", iterator: part }}
    tool: {{ kind: python, code: x, input: {{ row: "{{{{ iter.part.text }}}}" }} }}
"""


def test_a_loop_begins_in_the_transaction_that_stores_its_collection() -> None:
    rows = [{"parts": [{"text": f"{row}{part}" + "x" * 3_000} for part in "ab"]} for row in range(2)]
    echo = Echo(0)
    driver = Spilling(NESTED, echo, {"rows": rows}).run()
    assert driver.state.status == "completed", driver.log()
    assert [str(given["row"])[:2] for _, given in echo.calls] == ["0a", "0b", "1a", "1b"]


def test_a_stored_collection_that_is_no_list_is_named_by_its_type() -> None:
    driver = Spilling(NESTED, workload={"rows": {"text": "x" * 5_000}}).run()
    assert driver.state.error is not None
    assert "`loop.in` of step `each` must give a list, and gave a mapping" in driver.state.error.message


class Emptied(Blobs):
    """What it held was kept for a time, which is over."""

    def length(self, stored: External | Reference) -> int | None:  # noqa: ARG002
        raise Lost(Loss("was kept for 1h"))


class Forgetful(Spilling):
    def send(self, command: Command) -> Rejection | None:
        self.store = self.stored = Emptied()
        self.sizes = []
        return super().send(command)


def test_a_loop_over_a_collection_that_is_gone_fails_its_step() -> None:
    driver = Forgetful(NESTED, workload={"rows": Reference("blob", {"sha256": "gone"})}).run()
    assert driver.state.error is not None
    assert driver.state.error.kind == "reference_not_available"
    assert "the data of {'sha256': 'gone'} was kept for 1h; run again what made it" in driver.state.error.message


MADE = f"""{playbooks.HEAD}
workflow:
  - step: make
    tool: {{ kind: python, code: x }}
    next: {{ arcs: [ {{ step: each }} ] }}
  - step: each
    loop: {{ in: "{{{{ make.data }}}}", iterator: row }}
    tool: {{ kind: noop }}
"""


def test_a_loop_over_the_data_of_a_step_that_is_gone_names_the_step() -> None:
    driver = Forgetful(MADE, lambda *_given: Output(data=["x" * 5_000])).run()
    assert driver.state.error is not None
    assert "the data of step `make` was kept for 1h; run that step again: `noetl rerun … --from make`" in (
        driver.state.error.message
    )


def test_a_transaction_reads_what_it_is_about_to_store_and_what_is_stored() -> None:
    older, spill = Blobs(), Spill(PAYLOAD_BYTES_MIN)
    both = spill.over(older)
    old = store(Output(data=["o" * 2_000, 1]), limit_bytes=0, always=False)
    older.keep(*old.blobs)
    patched = spill(e.CtxPatched({"new": ["n" * 5_000, old.data]}, e.PatchOrigin("x")))
    assert isinstance(patched, e.CtxPatched)
    new = patched.patch["new"]
    assert isinstance(new, External)
    assert isinstance(old.data, External)
    assert (both.length(new), both.length(new.reference), both.length(old.data)) == (2, 2, 2)
    assert both.element(new, 0) == "n" * 5_000
    assert both.element(new, 1) == hydrate(old.data, both.fetch) == ["o" * 2_000, 1]
    assert both.element(old.data, 1) == 1
    assert both.length(Reference("nats", {"key": "x"})) is None


REFS = f"""{playbooks.HEAD}
workflow:
  - step: each
    loop: {{ in: [1, 2], iterator: row }}
    tool: {{ kind: python, code: x }}
    set: {{ ctx.each_ref: "{{{{ output.ref }}}}" }}
    next: {{ arcs: [ {{ step: one }} ] }}
  - step: one
    tool: {{ name: get, kind: python, code: x, set: {{ ctx.get_ref: "{{{{ output.ref }}}}" }} }}
"""


def test_a_reference_that_is_read_is_there_however_small_the_data() -> None:
    driver = Spilling(REFS, lambda *_: Output(data=7))
    kept = kept_outputs(driver.playbook)
    assert ("workflow/one", "get") in kept.tasks

    def tool(name: str, _fields: object, _given: object) -> Output:
        path = "workflow/one" if name == "get" else "workflow/each"
        stored = store(Output(data=7), limit_bytes=PAYLOAD_BYTES_MIN, always=(path, name) in kept.tasks)
        driver.store.keep(*stored.blobs)
        return stored.output

    driver.tool = tool
    while not driver.state.has_ended:
        assert driver.step()
    assert driver.state.status == "completed", driver.log()
    found = {name: reference for name, reference in driver.state.ctx.items() if isinstance(reference, Reference)}
    assert sorted(found) == ["each_ref", "get_ref"]
    assert driver.store.items(found["each_ref"]) == [7, 7]
    assert driver.store.items(found["get_ref"]) == 7
