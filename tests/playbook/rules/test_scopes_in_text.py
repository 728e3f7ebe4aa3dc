import pytest

from noetl.playbook.rules.rule import Part
from noetl.playbook.rules.scopes_in_text import TAGS_MAX, find_tag


@pytest.mark.parametrize("text", ["{{ workload.x }}", "{{ ctx['a'] | upper }}", "{{ execution_id }}", "{{ _prev }}"])
def test_a_tag_that_reads_a_scope_was_meant_to_be_a_template(text: str) -> None:
    assert find_tag(f"a {text}") == Part(2, 2 + len(text))


@pytest.mark.parametrize(
    "text", ["plain", "{{ name }}", "{{1}}", "{{ step }}", "{{ workload. }}", "{{.State}}", "{{ {'a': 1} }}"]
)
def test_braces_of_other_languages_are_left_alone(text: str) -> None:
    assert find_tag(text) is None


def test_no_more_than_a_bounded_number_of_tags_is_looked_at() -> None:
    assert find_tag("{{ a }}" * (TAGS_MAX - 1) + "{{ ctx.x }}") is not None
    assert find_tag("{{ a }}" * TAGS_MAX + "{{ ctx.x }}") is None
