import pytest

from noetl.playbook.rules.advice import ADVICE_MAX, advice
from tests.playbook.texts import document, said, whole, with_step, with_tool


def told(text: str) -> list[str]:
    return [found.message.partition("; ")[2] for found in said(text, "NOE101")]


@pytest.mark.parametrize(
    ("step", "place"),
    [
        ("url: x\ntool: { kind: noop }", "it belongs under `tool`"),
        ("in: [1]\ntool: { kind: noop }", "it belongs under `loop`"),
        ("tool: { kind: noop, timeout: 5 }", "it belongs under `spec`"),
        ("tool: { kind: noop, rules: [] }", "it belongs under `spec.policy`"),
        ("tool: { kind: noop }\nnext: { arcs: [ { step: load } ], step: load }", "it belongs under `arcs`"),
        ("mode: x\ntool: { kind: noop }", "it belongs under `loop.spec` or `next.spec`"),
        ("mode: x\ntool: { kind: noop }\nnext: { arcs: [] }", "it belongs under `next.spec`"),
        ("loop: { in: [], iterator: a, tool: [] }", "it belongs in the step, one level up"),
        ("loop: { in: [], iterator: a, spec: { tool: [] } }", "it belongs in the step, two levels up"),
        ("tool: { kind: noop, spec: { result: { loop: 1 } } }", ""),
        ("tool: { kind: noop }\nmetadata: {}", ""),
    ],
)
def test_a_key_that_belongs_elsewhere_is_sent_there(step: str, place: str) -> None:
    assert told(with_step(step)) == [place]


def test_a_misspelt_key_is_corrected_to_one_that_is_still_free() -> None:
    text = with_step("tool: { kind: noop }\nnxt: { arcs: [] }\ninptu: {}\ntol: []")
    assert told(text) == ['did you mean "next"?', 'did you mean "input"?', ""]
    assert [bool(found.fix) for found in said(text, "NOE101")] == [False, True, False]


def test_what_others_call_a_key_is_a_suggestion_but_no_edit() -> None:
    (found,) = said(with_tool("{ kind: duckdb, sql: select 1 }"), "NOE101")
    assert found.message.endswith('did you mean "command"?')
    assert found.fix == ()


def test_a_value_that_a_template_reads_is_the_authors_own() -> None:
    text = with_tool('{ kind: http, input: { url: "https://example.com/{{ input.page }}", page: 1, pages: 2 } }')
    assert [found.message for found in said(text, "NOE101")] == ['unknown key "pages" in http input']


def test_what_is_only_misspelt_is_not_missing_too() -> None:
    text = whole("workflow: [ { step: a, tool: { kind: http, urll: 'https://example.com' } } ]\n")
    assert said(text, "NOE111") == []
    assert said(text.replace("workflow", "workflw"), "NOE102") == []


def test_advice_is_given_for_a_bounded_number_of_keys() -> None:
    keys = "".join(f"x{number}x: 1\n" for number in range(ADVICE_MAX))
    text = whole(f"workflow: [ {{ step: a, tool: {{ kind: noop }} }} ]\n{keys}workbok: {{}}\n")
    assert len(advice(document(text))) == ADVICE_MAX


def test_an_older_word_does_not_hide_what_is_missing() -> None:
    text = "vars: {}\nworkflow: [ { step: a, tool: { kind: noop } } ]\n"
    assert [found.message for found in said(text, "NOE102")] == [
        'the playbook has no "apiVersion"',
        'the playbook has no "kind"',
        'the playbook has no "metadata"',
    ]
