"""The drawing as geometry: nothing overlaps, every line arrives, and every text is escaped."""

import re
from xml.etree import ElementTree

from hypothesis import given, settings
from hypothesis import strategies as st

from noetl.playbook.drawing import svg
from noetl.playbook.model import Arc, Join, Playbook, RouteMode, Router, Step
from tests.playbook.drawing.samples import FAILED, SAMPLES, exclusive, playbook, tasks

SVG = "{http://www.w3.org/2000/svg}"
Rect = tuple[float, float, float, float]


def parsed(book: Playbook) -> ElementTree.Element:
    return ElementTree.fromstring(svg(book))


def rects(root: ElementTree.Element, group: str) -> list[Rect]:
    """Left, top, right and bottom of the frames in groups of one class."""
    found = []
    for element in root.iter(f"{SVG}g"):
        frames = [each for each in element.findall(f"{SVG}rect") if each.get("class") != "shade"]
        if group in (element.get("class") or "").split() and frames:
            left, top, width, height = (float(frames[0].get(key) or 0) for key in ("x", "y", "width", "height"))
            found.append((left, top, left + width, top + height))
    return found


def overlap(one: Rect, other: Rect) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def overlaps(boxes: list[Rect]) -> list[tuple[Rect, Rect]]:
    return [(one, other) for number, one in enumerate(boxes) for other in boxes[:number] if overlap(one, other)]


def paths(root: ElementTree.Element) -> list[ElementTree.Element]:
    return [each for each in root.iter(f"{SVG}path") if each.get("class") == "line"]


def test_a_drawing_has_a_size_and_shrinks_with_its_window_while_it_can_be_read() -> None:
    root = parsed(SAMPLES["chain"])
    assert root.get("width") == "188"
    assert root.get("style") == "display:block;margin:0 auto;max-width:100%;min-width:113px;height:auto"
    assert (root.get("viewBox") or "").split()[2:] == [root.get("width"), root.get("height")]


GUARDS = (None, None, "{{ ctx.x }}", "{{ output.data.some_long_condition > 3 }}", FAILED)


@st.composite
def books(draw: st.DrawFn) -> Playbook:
    names = [f"step_{number}" for number in range(draw(st.integers(1, 12)))]
    steps = []
    for name in names:
        arcs = draw(st.lists(st.builds(Arc, st.sampled_from(names), st.sampled_from(GUARDS)), max_size=4))
        joins = draw(st.sampled_from((Join.EACH, Join.EACH, Join.ALL)))
        router = Router(draw(st.sampled_from(RouteMode)), tuple(arcs))
        steps.append(Step(name, join=joins, tool=tasks("http"), next=router))
    return playbook("random", *steps)


@settings(max_examples=60, deadline=None)
@given(books())
def test_no_box_and_no_label_overlaps_another(book: Playbook) -> None:
    root = parsed(book)
    boxes, labels = rects(root, "box"), rects(root, "label")
    assert len(boxes) == len(book.workflow)
    assert overlaps([*boxes, *labels]) == []


@settings(max_examples=60, deadline=None)
@given(books())
def test_everything_is_inside_the_frame_and_drawn_the_same_again(book: Playbook) -> None:
    root = parsed(book)
    left, top, width, height = (float(each) for each in (root.get("viewBox") or "").split())
    for rect in (*rects(root, "box"), *rects(root, "label")):
        assert left <= rect[0] <= rect[2] <= left + width
        assert top <= rect[1] <= rect[3] <= top + height
    assert svg(book) == svg(book)


@settings(max_examples=60, deadline=None)
@given(books())
def test_every_step_that_an_arc_leads_to_has_an_arrow(book: Playbook) -> None:
    heads = sum(1 for path in paths(parsed(book)) if path.get("marker-end"))
    targets = {(arc.step, arc.when == FAILED) for step in book.workflow for arc in step.next.arcs}
    starts = 1
    assert len({name for name, _ in targets}) <= heads - starts <= sum(len(step.next.arcs) for step in book.workflow)


def test_hostile_text_stays_text() -> None:
    root = parsed(SAMPLES["hostile"])
    assert root.find(f".//{SVG}script") is None
    texts = ["".join(each.itertext()) for each in root.iter(f"{SVG}text")]
    assert "ctx['a\"]'] == '<script>alert(1)</scri…" in texts
    assert root.get("aria-label") == 'Playbook quote " <b>&amp;</b> ]] %%{init: x}%%: 3 steps, 2 arcs'


def test_a_drawing_needs_nothing_from_elsewhere() -> None:
    text = svg(SAMPLES["nightly_import"])
    assert "@import" not in text
    assert re.findall(r"(?:href|src)=", text) == []
    assert re.findall(r"url\((?!#)", text) == []
    assert 'role="img"' in text
    assert "prefers-color-scheme:dark" in text


def test_lines_that_join_a_trunk_are_drawn_once() -> None:
    root = parsed(SAMPLES["errors"])
    to_alert = [each for each in paths(root) if "→ alert" in "".join(each.itertext())]
    assert sum(1 for each in to_alert if each.get("marker-end")) == 2
    assert len(to_alert) == 4


def test_several_loops_at_one_box_stand_apart() -> None:
    looping = Step("a", tool=tasks("http"), next=exclusive(Arc("a", "{{ ctx.x }}"), Arc("a", "{{ ctx.y }}"), "b"))
    root = parsed(playbook("p", looping, Step("b", next=exclusive(Arc("a", "{{ ctx.again }}")))))
    assert overlaps([*rects(root, "box"), *rects(root, "label")]) == []


def test_a_thousand_steps_with_far_arcs_are_drawn() -> None:
    count = 1_000
    steps = [
        Step(
            f"s{number}",
            tool=tasks("http"),
            next=exclusive(Arc(f"s{number * 7 % count}", "{{ ctx.x }}"), f"s{number + 1}"),
        )
        for number in range(count)
    ]
    root = parsed(playbook("large", *steps))
    assert len(rects(root, "box")) == count
