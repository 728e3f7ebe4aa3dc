from noetl.playbook.drawing import dot, mermaid
from noetl.playbook.drawing.sketch import Style, sketch
from noetl.playbook.drawing.text import bold_width, mono_width, one_line, sans_width, shorten
from noetl.playbook.model import Arc, Loop, LoopMode, Playbook, Step
from tests.playbook.drawing.samples import FAILED, SAMPLES, exclusive, inclusive, playbook, tasks


def labels(*arcs: Arc | str) -> list[tuple[str, Style]]:
    drawing = sketch(playbook("p", Step("a", tool=tasks("http"), next=exclusive(*arcs)), Step("b")))
    return [(line.label, line.style) for line in drawing.lines]


def test_wider_text_is_measured_wider() -> None:
    assert sans_width("illi", 10) < sans_width("mmmm", 10) < sans_width("日本語漢", 10)
    assert bold_width("a", 10) > sans_width("a", 10)
    assert mono_width("ab", 10) < mono_width("日本", 10)


def test_text_is_cut_to_one_line_with_an_ellipsis() -> None:
    assert shorten("one\ntwo\x07three  four", 40) == "one two three four"
    assert shorten("a long text", 7) == "a long…"
    assert one_line("  a \t b ") == "a b"


def test_a_guard_is_shown_without_braces_and_known_events_by_name() -> None:
    guards = (
        "{{ ctx.x }}",
        "{{- ctx.y -}}",
        FAILED,
        '{{ event.name == "step.done" and ctx.x }}',
        "{{ true }}",
        False,
        "text",
    )
    shown = [label for label, _ in labels(*(Arc("b", guard) for guard in guards))]
    assert shown == ["ctx.x", "ctx.y", "step.failed", "step.done and ctx.x", "always", "never", "text"]


def test_an_arc_without_a_guard_takes_the_rest_where_others_compete() -> None:
    assert labels(Arc("b", "{{ ctx.x }}"), "b") == [("ctx.x", Style.PLAIN), ("otherwise", Style.OTHERWISE)]
    assert labels("b", Arc("b", FAILED)) == [("", Style.PLAIN), ("step.failed", Style.FAILURE)]
    assert labels(Arc("b", FAILED), "b") == [("step.failed", Style.FAILURE), ("", Style.PLAIN)]
    book = playbook("p", Step("a", next=inclusive(Arc("b", "{{ ctx.x }}"), "b")), Step("b"))
    assert [line.label for line in sketch(book).lines] == ["ctx.x", ""]


def test_an_arc_to_a_missing_step_is_left_out() -> None:
    assert labels("missing", "b") == [("", Style.PLAIN)]


def test_kinds_are_listed_in_order_without_neighbouring_repeats() -> None:
    book = playbook(
        "p",
        Step("a", tool=tasks("http", "http", "python", "http")),
        Step("b", tool=tasks("http", "python", "postgres", "duckdb", "script", "noop")),
    )
    assert [box.kinds for box in sketch(book).boxes] == [
        "http › python › http",
        "http › python › postgres › duckdb › +2",
    ]


def test_each_level_of_a_loop_is_named() -> None:
    inner = Loop("{{ iter.city.hotels }}", "hotel", LoopMode.PARALLEL, "{{ workload.at_once }}")
    outer = Loop("{{ workload.cities }}", "city", loop=inner)
    [box] = sketch(playbook("p", Step("a", loop=outer, tool=tasks("http")))).boxes
    assert box.loop == "each city, sequential / each hotel, parallel ×workload.at_once"


def test_a_playbook_whose_entry_is_missing_is_drawn_without_a_start() -> None:
    lost = playbook("p", Step("a", next=exclusive(Arc("a", FAILED))))
    book = Playbook(lost.metadata, lost.dialect, "nowhere", lost.workflow)
    assert "start" not in mermaid(book)
    assert "start ->" not in dot(book)


def test_mermaid_text_holds_nothing_but_entities_and_plain_characters() -> None:
    text = mermaid(SAMPLES["hostile"])
    assert "<script>" not in text
    assert "%%" not in text
    assert text.count('"') == 2 * (3 + 2)
    assert "\n  end" not in text


def test_mermaid_numbers_failing_links_behind_the_start() -> None:
    book = playbook("p", Step("a", tool=tasks("http"), next=exclusive("b", Arc("b", FAILED))), Step("b"))
    assert mermaid(book).endswith("linkStyle 2 stroke:#dc2626\n")


def test_dot_quotes_every_text() -> None:
    text = dot(SAMPLES["hostile"])
    assert '\\"quoted\\"' in text
    assert text.startswith('digraph "quote \\" <b>&amp;amp;</b> ]] %%{init: x}%%" {\n')
    assert "\\\\n back" in text
