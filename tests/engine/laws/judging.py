"""The laws that compare whole runs. Each takes a case and tells what breaks it, with playbook and log."""

from collections.abc import Iterator, Sequence

import msgspec

from noetl.engine import events as e
from noetl.engine.commands import RequestExecution
from noetl.engine.envelope import Event
from noetl.engine.evolve import evolve, fold
from noetl.engine.explain.arcs import explain_arcs
from noetl.engine.explain.steps import explain_step
from noetl.engine.explain.waits import explain_waits
from noetl.engine.explain.writes import explain_write
from noetl.engine.names import step_of
from noetl.engine.rerun import Cut
from noetl.engine.size import PAYLOAD_BYTES_MIN, hydrate
from noetl.engine.snapshot import decode_snapshot, encode_snapshot
from noetl.engine.state import empty
from noetl.engine.tree import ENDED, Kind, Node, State, tree
from tests.engine.laws.cases import Case
from tests.engine.laws.executions import Execution, frozen
from tests.engine.laws.world import MOVES_MAX, NO_TROUBLE, ROOT, TROUBLE, Trouble, World, history
from tests.engine.logs import compact
from tests.engine.rerunning import rerun
from tests.engine.stores import Blobs

ORDERS = 3
CUTS = 12
UNLIKE = frozenset({"digest", "message", "details"})
"""What differs between the spellings of one playbook: its digest, and texts that quote it."""

EVENT_BYTES_MAX = 250_000
"""Playbooks that let data grow beyond this let it grow for ever."""


def differing_repeats(case: Case) -> Iterator[str]:
    if history(ran(case)) != history(ran(case)):
        yield case.text


def differing_snapshots(case: Case) -> Iterator[str]:
    """At several events: the state as bytes and back, and then the rest of the log."""
    for execution in ran(case).executions.values():
        facts = stored_facts(execution)
        whole = frozen(fold(execution.program, execution.state.execution_id, facts))
        state = empty(execution.state.execution_id)
        stride = 1 + len(facts) // CUTS
        for at, fact in enumerate(facts, 1):
            evolve(execution.program, state, fact)
            if at % stride:
                continue
            before = encode_snapshot(state)
            restored = decode_snapshot(before)
            if restored is None or encode_snapshot(restored) != before:
                yield f"the snapshot after event {at} changes when it is read\n{shown(case, execution)}"
            elif frozen(fold(execution.program, execution.state.execution_id, facts[at:], restored)) != whole:
                yield f"the log goes on otherwise from the snapshot after event {at}\n{shown(case, execution)}"


def differing_orders(case: Case) -> Iterator[str]:
    """Tools answer by the id of the run alone, so only the order of things differs between these worlds."""
    worlds = [ran(case, NO_TROUBLE, order) for order in range(ORDERS)]
    if any(world.moves >= MOVES_MAX for world in worlds):
        return  # cut short, each at another point
    first, *others = (result(world.root) for world in worlds)
    for world, other in zip(worlds[1:], others, strict=True):
        if other != first:
            yield "\n".join((shown(case, worlds[0].root), "another order:", compact(world.root.facts)))


def result(execution: Execution) -> tuple[object, ...]:
    state = execution.state
    return state.status, frozen(state.ctx), frozen(state.output), state.error, frozen(state.outputs)


def differing_spellings(today: Case, older: Case) -> Iterator[str]:
    one, other = ran(today, NO_TROUBLE), ran(older, NO_TROUBLE)
    if alike(one.root.facts) != alike(other.root.facts):
        yield "\n".join((shown(today, one.root), "the older spelling:", shown(older, other.root)))


def alike(facts: list[e.Fact]) -> list[object]:
    return [_alike(msgspec.to_builtins(fact)) for fact in facts]


def _alike(value: object) -> object:
    if isinstance(value, dict):
        return {key: _alike(inner) for key, inner in value.items() if key not in UNLIKE}
    return [_alike(inner) for inner in value] if isinstance(value, list | tuple) else value


def unexplained(case: Case) -> Iterator[str]:
    """At any prefix: a live execution waits for something that has a name, and an ended one has a tree that ended."""
    for execution in ran(case).executions.values():
        events = stored(execution)
        for found in (*unexplained_waits(execution, events), *unexplained_ends(execution, events)):
            yield f"{found}\n{shown(case, execution)}"


def unexplained_waits(execution: Execution, events: Sequence[Event]) -> Iterator[str]:
    state = empty(execution.state.execution_id)
    for event in events:
        evolve(execution.program, state, event.fact)
        if not all(wait.text for wait in explain_waits(execution.program, state)):
            yield f"a wait without a text after event {event.seq}"
    if explain_waits(execution.program, state):
        yield "what has ended waits"


def unexplained_ends(execution: Execution, events: Sequence[Event]) -> Iterator[str]:
    name, program = execution.state.execution_id, execution.program
    branches = list(nodes(tree(name, events)))
    if any(node.status not in ENDED for node in branches):
        yield "the tree has not ended"
    runs = {node.id for node in branches if node.kind is Kind.STEP and node.status is not State.SKIPPED}
    if runs != execution.monitor.scheduled:
        yield f"the tree has other step runs: {sorted(runs ^ execution.monitor.scheduled)}"
    for step in program.steps:
        if not all(arc.text for arc in explain_arcs(program, events, step)):
            yield f"an arc of {step} without a text"
        if not explain_step(program, events, step).text:
            yield f"{step} without a text"
    yield from (f"nobody wrote ctx.{key}" for key in execution.state.ctx if not explain_write(program, events, key))


def nodes(root: Node) -> Iterator[Node]:
    yield root
    for child in root.children:
        yield from nodes(child)


def broken_reruns(case: Case) -> Iterator[str]:
    """What has ended can be taken up from any step, or the answer says why not; and the rerun ends too."""
    world = ran(case)
    origin = world.root
    for cut in (Cut(), *(Cut(step) for step in origin.program.steps), Cut(failed_iterations=True)):
        request = rerun(origin.program, ROOT, stored_facts(origin), cut, now=world.now)
        if isinstance(request, RequestExecution):
            same = rerun(origin.program, ROOT, stored_facts(origin), cut, now=world.now, text=origin.program)
            if not isinstance(same, RequestExecution) or same.seed != request.seed:
                yield f"the same text, given anew, changes what {cut} takes over\n{shown(case, origin)}"
            again = ran(case, TROUBLE, request=request, store=world.store)
            if found := twice(origin, again.root):
                yield f"{cut} runs twice: {sorted(found)}\n{shown(case, again.root)}"
            if cut == Cut() and (lost := dropped(origin, again.root)):
                yield f"the rerun forgets: {sorted(lost)}\n{shown(case, again.root)}"


def twice(origin: Execution, again: Execution) -> set[tuple[str, e.Path]]:
    """The iterations that had succeeded, in loops of which only the others were to run again."""
    names = {started.step_run_id: kept.step_run_id for started, kept in kept_loops(again)}
    started = (fact for fact in again.facts if isinstance(fact, e.IterationStarted) and not fact.call)
    return done_inside(origin) & {
        (names[fact.step_run_id], fact.path) for fact in started if fact.step_run_id in names
    } - clashed(origin)


def dropped(origin: Execution, again: Execution) -> set[str]:
    """The loops that did not succeed, though iterations of them had, and that did not go on."""
    succeeded = {fact.step_run_id for fact in origin.facts if isinstance(fact, e.NextEvaluated) and fact.tokens}
    succeeded |= {fact.step_run_id for fact in origin.facts if isinstance(fact, e.NextEvaluated) and is_end(fact)}
    begun = {run for run, _ in done_inside(origin) - clashed(origin)}
    return begun - succeeded - {kept.step_run_id for _, kept in kept_loops(again)}


def is_end(fact: e.NextEvaluated) -> bool:
    return fact.error is None and fact.trigger.name != "step.failed"


def kept_loops(again: Execution) -> Iterator[tuple[e.LoopStarted, e.Kept]]:
    for fact in again.facts:
        if isinstance(fact, e.LoopStarted) and not fact.path and fact.kept is not None:
            yield fact, fact.kept


def done_inside(origin: Execution) -> set[tuple[str, e.Path]]:
    """The innermost iterations that had succeeded, by step run."""
    return {
        (fact.step_run_id, fact.path)
        for fact in origin.facts
        if isinstance(fact, e.IterationDone)
        and not fact.call
        and len(fact.path) == len(origin.program.steps[step_of(fact.step_run_id)].levels)
    }


def clashed(origin: Execution) -> set[tuple[str, e.Path]]:
    """Those inside a loop that failed for what they wrote together."""
    clashes = [
        (fact.step_run_id, fact.path if isinstance(fact, e.IterationFailed) else ())
        for fact in origin.facts
        if isinstance(fact, e.IterationFailed | e.StepFailed)
        and fact.output.error is not None
        and fact.output.error.kind == "ctx_conflict"
    ]
    return {
        (run, path) for run, path in done_inside(origin) for own, at in clashes if own == run and path[: len(at)] == at
    }


def effects_of_storing(case: Case) -> Iterator[str]:
    """The same with all data in events, unless a template of the server asks for what is not there.

    Data that doubles until it is too large is so sooner where events hold it.
    """
    here, elsewhere = ran(case, NO_TROUBLE, limit_bytes=None), ran(case, NO_TROUBLE)
    if is_refused_data(elsewhere) or has_manifest(here) or is_too_large(here):
        return
    for name, execution in here.executions.items():
        other = elsewhere.executions[name]
        one, two = told(execution), told(other)
        if one != two:
            yield "\n".join((f"{one}\n{two}", shown(case, execution), shown(case, other)))


def told(execution: Execution) -> object:
    """What came of an execution, with its data. References to it are only known where it is stored, and long messages
    are cut where there is a limit, so these are left out.
    """
    state = execution.state
    outputs = {step: each | {"ref": None} for step, each in state.outputs.items() if isinstance(each, dict)}
    kinds = [error.kind if error is not None else None for error in (state.output.error, state.error)]
    output = (state.output.status, state.output.data)
    return hydrate((state.status, state.ctx, outputs, output, kinds), execution.store.fetch)


def is_refused_data(world: World) -> bool:
    return any(b"data_by_reference" in event for execution in world.executions.values() for event in execution.log)


def is_too_large(world: World) -> bool:
    return any(len(event) > EVENT_BYTES_MAX for execution in world.executions.values() for event in execution.log)


def has_manifest(world: World) -> bool:
    """Whether a loop let its iterations' data go, since it grew too large."""
    facts = (fact for execution in world.executions.values() for fact in execution.facts)
    return any(isinstance(fact, e.LoopDone) and fact.output.ref is not None for fact in facts)


def ran(
    case: Case,
    trouble: Trouble = TROUBLE,
    order: int = 0,
    request: RequestExecution | None = None,
    store: Blobs | None = None,
    limit_bytes: int | None = PAYLOAD_BYTES_MIN,
) -> World:
    """The limit is for cases with large data."""
    world = World(case, trouble, order, request, store, limit_bytes if case.is_bulky else None)
    try:
        return world.run()
    except AssertionError as broken:
        raise AssertionError(
            "\n".join((str(broken), *(shown(case, each) for each in world.executions.values())))
        ) from broken


def shown(case: Case, execution: Execution) -> str:
    head = f"seed {case.seed}, execution {execution.state.execution_id}"
    text = case.text if execution.state.execution_id == ROOT else "(a child)"
    return "\n".join((head, text, compact(execution.facts)))


def stored(execution: Execution) -> list[Event]:
    return [execution.read(data) for data in execution.log]


def stored_facts(execution: Execution) -> list[e.Fact]:
    return [event.fact for event in stored(execution)]
