from noetl.playbook.source.read import SCALAR_CHARS_MAX
from tests.playbook.texts import HEAD, said


def test_a_text_beyond_the_bound_is_refused_at_its_place() -> None:
    (found,) = said(f"{HEAD}workload: {{ a: {'x' * (SCALAR_CHARS_MAX + 1)} }}\nworkflow: []\n", "NOE008")
    assert (found.span.line, found.span.column) == (4, 16)
    assert "expected at most 1,000,000" in found.message
