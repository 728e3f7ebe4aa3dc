"""The short form of the comparison with Jinja2; `python -m tests.expressions.differential` is the long one."""

import pytest

from tests.expressions.differential import compare

CASES = 3000
PARTS = 6


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize("part", range(PARTS))
def test_generated_expressions_have_the_values_of_jinja2(part: int) -> None:
    size = CASES // PARTS
    assert compare(part * size, size) == []
