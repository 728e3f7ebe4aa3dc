"""The picture as text, for what is hard to bring about on a real terminal."""

import pytest

from noetl.cli.live.progress import Progress
from noetl.cli.live.terminal import View, picture
from noetl.cli.live.words import columns
from noetl.engine import events as e
from noetl.engine.envelope import stamp
from noetl.engine.gathering import Intervals
from noetl.engine.output import Error, Output, failed
from noetl.playbook.model import Directive, LoopMode


def unpainted(text: str, _role: str) -> str:
    return text


def seen(*facts: e.Fact, steps: tuple[str, ...] = ("start", "fetch_all", "validate")) -> Progress:
    progress = Progress("pagination", "0193f2c4-5a6b-7000", steps)
    for event in stamp(facts, execution_id="x", after=0, timestamp=100.0, parent=None):
        progress.see(event)
    return progress


def drawn(progress: Progress, width: int = 80, height: int | None = None, now: float = 104.1) -> list[str]:
    return picture(progress, View(now, width, unpainted, 0, height))


def scheduled(step: str, number: int = 1) -> e.StepScheduled:
    return e.StepScheduled(f"{step}#{number}", step)


def loop(count: int, collection: object = None) -> e.LoopStarted:
    return e.LoopStarted("fetch_all#1", (), count, collection, LoopMode.PARALLEL, 4)


def task(index: int, number: int) -> e.TaskStarted:
    run = f"fetch_all#1[{index}].page/{number}"
    return e.TaskStarted("fetch_all#1", (index,), run, "page", 1, run)


def retried(index: int, number: int, due_at: float | None) -> e.TaskDone:
    output = Output(blocks={"http": {"status": 429}})
    run = f"fetch_all#1[{index}].page/{number}"
    return e.TaskDone("fetch_all#1", (index,), run, "page", 1, output, Directive.RETRY, 0, due_at=due_at)


def paged() -> Progress:
    started = [e.IterationStarted("fetch_all#1", (index,)) for index in range(3)]
    return seen(
        scheduled("start"),
        e.StepDone("start#1", Output()),
        scheduled("fetch_all"),
        loop(50, ["/hotels", "/rooms", {"name": "offers"}]),
        *started,
        task(0, 1),
        e.IterationDone("fetch_all#1", (0,), Output()),
        task(1, 7),
        retried(1, 7, 106.1),
        task(2, 1),
    )


def test_the_picture_is_that_of_the_design() -> None:
    assert drawn(paged()) == [
        "▶ pagination  0193f2c4-5a6b",
        "  ✓ start                                  0 ms",
        "  ⠋ fetch_all  loop 1/50  ▕            ▏  4.1 s   1 retry",
        "      ✓ [0] /hotels",
        "      ⠋ [1] /rooms   page 7   retrying in 2.0 s (429)",
        "      ⠋ [2] offers   page",
        "  · validate",
    ]


def test_a_retry_that_is_due_says_so_without_a_time() -> None:
    assert "retrying (429)" in drawn(paged(), now=110.0)[4]


def test_a_loop_that_is_half_done_has_half_a_bar() -> None:
    ended = [fact for index in range(5) for fact in iteration(index)]
    (line,) = [line for line in drawn(seen(scheduled("fetch_all"), loop(10), *ended)) if "loop" in line]
    assert "loop 5/10  ▕██████      ▏" in line
    assert "▕" not in drawn(seen(scheduled("fetch_all"), loop(10), *ended), width=50)[2]


def iteration(index: int) -> tuple[e.Fact, e.Fact]:
    output = failed("exception", "no")
    ended: e.Fact = e.IterationFailed("fetch_all#1", (index,), output) if index == 4 else e.IterationDone(
        "fetch_all#1", (index,), Output()
    )  # fmt: skip
    return e.IterationStarted("fetch_all#1", (index,)), ended


def test_what_failed_is_counted_and_the_last_failure_said() -> None:
    ended = [fact for index in range(5) for fact in iteration(index)]
    lines = drawn(seen(scheduled("fetch_all"), loop(10), *ended))
    assert "1 failed" in lines[2]
    assert lines[3] == "      ✗ [4] no"


def test_a_step_tells_its_runs_its_fate_and_what_went_wrong() -> None:
    lines = drawn(
        seen(
            e.StepSkipped("start", ()),
            scheduled("fetch_all"),
            scheduled("fetch_all", 2),
            e.StepFailed("fetch_all#2", failed("exception", "no\nluck")),
            e.StepDone("fetch_all#1", Output()),
            scheduled("validate"),
            e.WorkflowFinished("cancelled", Output(), Error("cancelled", "enough")),
        )
    )
    assert [line.split() for line in lines[1:]] == [
        ["⊘", "start", "skipped"],
        ["✗", "fetch_all", "0", "ms", "run", "2"],
        ["no", "luck"],
        ["⊘", "validate", "0", "ms", "cancelled"],
    ]


def test_a_step_runs_as_long_as_one_of_its_runs_does() -> None:
    facts = (scheduled("fetch_all"), scheduled("fetch_all", 2), e.StepDone("fetch_all#2", Output()))
    assert seen(*facts).steps["fetch_all"].mark == "running"
    assert seen(*facts, e.StepDone("fetch_all#1", Output())).steps["fetch_all"].mark == "done"


def test_a_rerun_shows_what_it_keeps() -> None:
    seed = e.Seed((), outputs={"start": {}})
    kept = e.Kept("y", "fetch_all#1", Intervals([], [], []), 30)
    again = e.LoopStarted("fetch_all#1", (), 50, None, LoopMode.PARALLEL, 4, kept)
    progress = seen(e.WorkflowStarted("start", seed), scheduled("fetch_all"), again)
    lines = drawn(progress)
    assert lines[1].split() == ["✓", "start", "kept"]
    assert "loop 30/50" in lines[2]


@pytest.mark.parametrize("width", [1, 8, 13, 20, 40, 80, 200])
@pytest.mark.parametrize("height", [1, 2, 3, 5, 10, 24])
def test_no_line_is_wider_than_the_terminal_and_all_together_are_not_taller(width: int, height: int) -> None:
    steps = tuple(f"a_step_with_a_long_name_{number}" for number in range(30))
    progress = seen(*map(scheduled, steps[:20]), e.StepFailed(f"{steps[7]}#1", failed("x", "y" * 300)), steps=steps)
    lines = drawn(progress, width, height)
    assert len(lines) <= max(3, height - 1) + 1
    if width >= 20:
        assert all(columns(line) <= width for line in lines)
    if height >= 5:
        assert len(lines) < height


def test_what_happens_stays_in_sight_among_many_steps() -> None:
    steps = tuple(f"s{number}" for number in range(100))
    done = [fact for step in steps[:50] for fact in (scheduled(step), e.StepDone(f"{step}#1", Output()))]
    lines = drawn(seen(*done, scheduled("s50"), steps=steps), height=10)
    assert [line.split()[0] for line in lines] == ["▶", "…", "✓", "✓", "✓", "✓", "⠋", "·", "…"]
    assert lines[1] == "  … 46 more above"
    assert lines[-1] == "  … 48 more below"


def test_without_a_height_the_picture_has_all_its_lines() -> None:
    assert len(drawn(seen(steps=tuple(f"s{number}" for number in range(500))))) == 501
