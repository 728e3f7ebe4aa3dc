"""docs/expressions.md tells the truth: its examples are executed, and it names every filter, test and method."""

import json
import re
from pathlib import Path

import pytest
from jinja2.filters import FILTERS as THEIRS

from noetl.errors import TemplateError
from noetl.expressions.filters import EACH_FILTERS, FILTERS, REFUSED_FILTERS
from noetl.expressions.functions import FUNCTIONS
from noetl.expressions.methods import METHODS
from noetl.expressions.predicates import TESTS
from noetl.expressions.template import parse
from tests.documents import blocks

PAGE = Path(__file__).parents[2] / "docs" / "expressions.md"
BLOCKS = list(blocks(PAGE.read_text("utf-8")))
SCOPE = json.loads(next(block.text for block in BLOCKS if block.info == "json scope"))
EXAMPLES = [
    pytest.param(block.info, *re.split(r"\s+→ ", line, maxsplit=1), id=f"line-{block.line + number}")
    for block in BLOCKS
    if block.info in ("jinja examples", "jinja guards")
    for number, line in enumerate(block.text.splitlines())
]


def outcome(text: str, *, is_guard: bool) -> str:
    template = parse(text)
    assert template.problems == ()
    try:
        value = template.test(SCOPE) if is_guard else template.evaluate(SCOPE)
    except TemplateError as error:
        return f"error {error.message}"
    return json.dumps(value, ensure_ascii=False)


@pytest.mark.parametrize(("info", "text", "expected"), EXAMPLES)
def test_an_example_gives_what_the_page_shows(info: str, text: str, expected: str) -> None:
    found = outcome(text, is_guard=info == "jinja guards")
    assert found.startswith(expected) if expected.startswith("error ") else found == expected


def test_the_page_has_many_examples() -> None:
    assert len(EXAMPLES) > 80


@pytest.mark.parametrize("name", sorted({*FILTERS, *EACH_FILTERS, *TESTS, *METHODS, *FUNCTIONS}))
def test_the_page_names_everything_a_template_may_use(name: str) -> None:
    assert re.search(rf"`{re.escape(name)}[`(]", PAGE.read_text("utf-8"))


def test_jinja2s_own_filters_are_there_or_listed_as_left_out() -> None:
    missing = set(THEIRS) - set(FILTERS) - EACH_FILTERS
    assert missing <= set(REFUSED_FILTERS)
    assert all(f"`{name}`" in PAGE.read_text("utf-8") for name in missing)
