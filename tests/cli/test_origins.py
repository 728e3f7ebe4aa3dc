"""A rerun of a rerun leads back to the execution in which a step ran."""

from noetl.cli.origins import origin_of, short_name, where_it_ran, with_names
from noetl.control_plane.loading import Loader
from noetl.engine.output import Error
from noetl.engine.rerun import Cut
from noetl.supply.programs import Programs
from noetl.supply.shelf import Shelf
from tests.runtime import Rig, chain, played

GONE = "the data of step `a` is gone; run that step again: `noetl rerun … --from a`"


async def reruns(rig: Rig) -> Loader:
    """An execution x1 of a, b and c; x2 is its rerun from b, and x3 that of x2 from c."""
    plane = rig.serve()
    rig.work(plane)
    before = await rig.begin(plane, chain("a", "b", "c"), name="x1")
    await rig.end(before)
    for name, step in (("x2", "b"), ("x3", "c")):
        origin = await rig.store.summary(before)
        assert origin is not None
        before = str(await plane.rerun(origin, Cut(step), {}, name))
        assert await rig.end(before) == "completed"
    return Loader(rig.store, Programs(rig.catalog.by_digest), Shelf(rig.results, 1_000_000), rig.system, 100)


@played
async def test_the_origin_of_a_rerun_is_told_by_its_first_event(rig: Rig) -> None:
    await reruns(rig)
    assert [await origin_of(rig.store, name) for name in ("x1", "x2", "x3", "none")] == [None, "x1", "x2", None]


@played
async def test_a_step_ran_in_the_nearest_execution_that_did_not_only_keep_it(rig: Rig) -> None:
    loader = await reruns(rig)
    assert [await where_it_ran(loader, "x3", step) for step in ("a", "b", "c", "d")] == ["x1", "x2", "x3", None]
    assert await where_it_ran(loader, "x1", "c") == "x1"


@played
async def test_an_error_names_the_run_from_which_its_remedy_can_be_had(rig: Rig) -> None:
    loader = await reruns(rig)
    named = await with_names(loader, "x3", Error("reference_not_available", GONE))
    assert named == Error("reference_not_available", GONE.replace("…", "x1"))
    for other in (None, Error("exception", "no"), Error("exception", GONE.replace("--from a", "--from z"))):
        assert await with_names(loader, "x3", other) == other


def test_the_name_of_one_that_another_started_is_whole() -> None:
    name = "01a1e2f9-b0bb-7000-8000-000000000000"
    assert short_name(name) == "01a1e2f9-b0bb"
    assert short_name(f"{name}.ask#1.ask/1") == f"{name}.ask#1.ask/1"
