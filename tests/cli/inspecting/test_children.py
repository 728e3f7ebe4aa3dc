"""What is told of the executions below another one, however many there are."""

from noetl.cli.inspecting.children import READ_MAX, children_of, in_order, told
from noetl.engine.events import Parent
from noetl.ports import Append, Summary
from tests.runtime import Rig, played

PARENT = Parent("root", "a#1", (), "t", 1)


def append(name: str, status: str) -> Append:
    return Append(name, 0, [b"{}"], summary=Summary(name, "p", "d", status, 1.0, 1.0, 1, PARENT))


async def lines(rig: Rig) -> list[str]:
    return list(told(await children_of(rig.store, "root"), "root", is_interrupted=False))


@played
async def test_where_there_is_none_nothing_is_told(rig: Rig) -> None:
    await rig.store.commit([append("root", "running"), append("rooted.a/1", "failed")])
    assert await lines(rig) == []


@played
async def test_one_is_one(rig: Rig) -> None:
    await rig.store.commit([append("root.a/1", "completed")])
    assert await lines(rig) == ["  below it: 1 execution", "    completed  p  root.a/1"]


@played
async def test_of_very_many_a_bounded_part_is_looked_through_and_that_is_said(rig: Rig) -> None:
    await rig.store.commit([append(f"root.a[{number:06}]/1", "completed") for number in range(READ_MAX)])
    assert (await lines(rig))[0] == f"  below it: {READ_MAX} executions"
    await rig.store.commit([append("root.z/1", "failed")])
    found = await lines(rig)
    assert found[0] == f"  below it: more than {READ_MAX} executions"
    assert found[-1] == f"    … {READ_MAX - 10} more; see: noetl executions --of root"


@played
async def test_numbers_in_names_count(rig: Rig) -> None:
    names = [f"root.a#1[{number}].t/1" for number in (0, 2, 10, 11, 100)]
    inside = f"{names[1]}.b#1.t/1"
    failed = {names[2], names[4]}
    await rig.store.commit([append(name, "failed" if name in failed else "completed") for name in (*names, inside)])
    assert [each.execution_id async for each in in_order(rig.store, "root")] == [*names[:2], inside, *names[2:]]
    first = [each.execution_id async for each in in_order(rig.store, "root", failed_first=True)]
    assert first == [names[2], names[4], names[0], names[1], inside, names[3]]
    shown = [line.split()[-1] for line in (await lines(rig))[1:]]
    assert [name.strip("'") for name in shown] == first


@played
async def test_none_of_very_many_is_left_out(rig: Rig) -> None:
    await rig.store.commit([append(f"root.a[{number}]/1", "completed") for number in range(READ_MAX + 5)])
    found = [each.execution_id async for each in in_order(rig.store, "root")]
    assert len(set(found)) == READ_MAX + 5
    assert found[:3] == [f"root.a[{number}]/1" for number in range(3)]
