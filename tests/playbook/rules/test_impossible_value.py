import pytest

from noetl.playbook.fixes import apply_fixes
from tests.playbook.texts import said, whole


def with_arc(when: str) -> str:
    arcs = f'[ {{ step: b, when: "{when}" }}, {{ step: c }} ]'
    first = f"{{ step: a, tool: {{ kind: http, url: https://example.com }}, next: {{ arcs: {arcs} }} }}"
    return whole(
        f"workflow: [ {first}, {{ step: b, tool: {{ kind: noop }} }}, {{ step: c, tool: {{ kind: noop }} }} ]\n"
    )


@pytest.mark.parametrize(
    ("word", "meant", "is_safe"),
    [
        ("step.fail", "step.failed", True),
        ("step.faild", "step.failed", True),
        ("STEP.DONE", "step.done", True),
        ("call.done", "step.done", False),
        ("loop.finished", "step.done", False),
        ("loop.failed", "step.failed", False),
        ("error", "step.failed", False),
    ],
)
def test_an_events_name_is_one_of_a_few(word: str, meant: str, is_safe: bool) -> None:
    text = with_arc(f"{{{{ event.name == '{word}' }}}}")
    (found,) = said(text, "NOE514")
    assert found.message == f'`event.name` is never "{word}"; did you mean "{meant}"?'
    assert (apply_fixes(text).text == text.replace(word, meant)) is is_safe


def test_a_word_like_no_other_gets_the_words_that_occur() -> None:
    (found,) = said(with_arc("{{ event.status == 'tick' }}"), "NOE514")
    assert (found.message, found.hint) == ('`event.status` is never "tick"', "here it is one of success, error")


@pytest.mark.parametrize(
    "when",
    ["{{ 'a' in event.name }}", "{{ event.name == ctx.x }}", "{{ event.name in ctx.x }}", "{{ event[0] == 'status' }}"],
)
def test_only_a_comparison_with_a_word_is_judged(when: str) -> None:
    assert said(with_arc(when), "NOE514") == []


def test_a_word_that_cannot_be_reached_inside_its_text_is_told_without_a_fix() -> None:
    text = with_arc("{{ event.name == 'step.fail' }}").replace("'step.fail'", "'step.f\\u0061il'")
    (found,) = said(text, "NOE514")
    assert found.message.startswith('`event.name` is never "step.fail"')
