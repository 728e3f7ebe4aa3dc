import gc
import tracemalloc
from collections.abc import Iterator
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noetl.errors import TemplateError
from noetl.expressions.runtime import BUDGET
from noetl.expressions.template import Template
from tests.expressions.corpus import Corpus, scope_of
from tests.expressions.hostile import scope, templates
from tests.expressions.values import failure, value_of

CPU_S_MAX = 10.0
"""Generous: a loaded machine and coverage slow everything down. The bound itself is counted in steps."""
PEAK_BYTES_MAX = 50_000_000


@pytest.fixture(scope="module")
def hostile_scope() -> Iterator[dict[str, object]]:
    yield scope()
    gc.collect()


@pytest.mark.parametrize("text", templates(), ids=lambda text: text[:60] if len(text) < 200 else text[:20])
def test_whatever_asks_for_too_much_ends_in_an_error(text: str, hostile_scope: dict[str, object]) -> None:
    template = Template(text)
    assert template.problems == ()
    before = process_time()
    with pytest.raises(TemplateError):
        template.evaluate(hostile_scope)
    assert process_time() - before < CPU_S_MAX


@pytest.mark.serial
@pytest.mark.parametrize("text", templates()[::3], ids=lambda text: text[:60] if len(text) < 200 else text[:20])
def test_it_ends_before_it_has_taken_much_memory(text: str, hostile_scope: dict[str, object]) -> None:
    template = Template(text)
    tracemalloc.start()
    try:
        with pytest.raises(TemplateError):
            template.evaluate(hostile_scope)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < PEAK_BYTES_MAX


def test_the_error_says_which_bound_was_met() -> None:
    assert (
        failure("{{ 'x' * 10 ** 9 }}").message == f"the expression takes more than {BUDGET:,} steps, in `'x' * 10 ** 9`"
    )


def test_each_evaluation_has_a_budget_of_its_own() -> None:
    for _ in range(20):
        assert value_of("range(90000) | length") == 90_000


def test_large_but_ordinary_work_is_within_the_budget() -> None:
    rows = [{"id": number, "name": f"n{number}", "tags": ["a", "b"]} for number in range(10_000)]
    assert (
        value_of("rows | selectattr('id', 'gt', 5000) | map(attribute='name') | list | length", {"rows": rows}) == 4999
    )
    assert len(str(value_of("rows | tojson", {"rows": rows}))) > 300_000
    assert value_of("rows + rows | list", {"rows": rows}) == rows + rows
    assert value_of("{'rows': rows}", {"rows": rows}) == {"rows": rows}


@given(st.text(alphabet="{}%#-+ ab.'\"()[]|1=~\\\n,:is if for in end set raw", max_size=200) | st.text(max_size=100))
@settings(max_examples=400)
def test_no_text_makes_parsing_raise(text: str) -> None:
    template = Template(text)
    assert all(0 <= problem.start <= problem.end <= len(text) for problem in template.problems)
    assert all(text[use.start : use.end] == use.root for use in template.names)
    assert template.constant is template.constant


@given(st.integers(0, 10**9), st.integers(0, 3), st.data())
@settings(max_examples=300)
def test_spoilt_templates_give_problems_or_template_errors_only(seed: int, cuts: int, data: st.DataObject) -> None:
    corpus = Corpus(seed)
    text = corpus.template() if seed % 2 else "{{ " + corpus.expression() + " }}"
    for _ in range(cuts):
        place = data.draw(st.integers(0, len(text)))
        text = (
            text[:place]
            + data.draw(st.sampled_from(["", "{", "}", "(", "'", " | ", "[", "%}", "not "]))
            + text[place + 1 :]
        )
    template = Template(text)
    try:
        template.evaluate(scope_of(corpus.random))
        is_answered = not template.problems
    except TemplateError as error:
        is_answered = 0 <= error.start <= error.end <= len(text)
    assert is_answered


@pytest.mark.parametrize(
    "piece",
    [
        "{{ a }}",
        "{{",
        "}}",
        "{{ ( }}",
        "{{ {{ }} ",
        "{{ ' ",
        "{% if a %}",
        "{# ",
        "{% raw %}",
        "{{ a | nope }}",
        "{{ [1, ",
        "a.b.",
        "-",
        "{{ '\\'",
        "{%- set a %}",
    ],
)
def test_reading_takes_time_in_proportion_to_the_text(piece: str) -> None:
    def cpu_s(size: int) -> float:
        before = process_time()
        Template(piece * (size // len(piece)))
        return process_time() - before

    small = min(cpu_s(20_000) for _ in range(3))
    assert cpu_s(200_000) < 60 * small + 1.0
