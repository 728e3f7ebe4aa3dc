from collections.abc import Iterator

import pytest

from noetl.playbook.compile import compile_playbook
from noetl.playbook.diagnostics import Edit, Severity, Span
from noetl.playbook.document import Document
from noetl.playbook.migrate import migrate
from noetl.playbook.migrate.migration import ROUNDS_MAX, Run, read_document
from noetl.playbook.migrate.rewrite import Rewrite
from noetl.playbook.vocabulary import Vocabulary

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: { name: demo, path: demo }\n"
SMALL = f"{HEAD}workflow:\n  - step: start\n    tool: {{ kind: noop }}\n"


def running(text: str) -> Run:
    document = read_document(text, Vocabulary())
    assert document is not None
    return Run(document)


@pytest.mark.parametrize("text", ["", "a: [", "- 1", "a: 1\na: 2\n", "\0"])
def test_a_text_that_cannot_be_read_is_given_back_as_it_is(text: str) -> None:
    migration = migrate(text)
    assert migration.text == text
    assert not migration.changed
    assert migration.refused == ()


def test_what_was_done_is_told_at_its_place_in_the_given_text() -> None:
    text = f"{SMALL}    when: true\n    args:\n      a: 1\n"
    migration = migrate(text)
    assert [(change.code, change.span.line) for change in migration.applied] == [("NOE702", 7), ("NOE602", 8)]


def test_a_refusal_inside_lines_that_moved_is_told_where_they_were() -> None:
    text = (
        f"{HEAD}workflow:\n"
        "  - step: start\n"
        "    tool:\n"
        "      - name: get\n"
        "        kind: http\n"
        "        spec: { timeout: 5 }\n"
        "        url: x\n"
        "        eval:\n"
        "          - else:\n"
        "              do: continue\n"
        "              set_ctx:\n"
        '                a: "{{ outcome.result.nothing }}"\n'
    )
    (refusal,) = migrate(text).refused
    assert refusal.code == "NOE607"
    assert refusal.span == Span(15, 24, 15, 38)


def test_a_byte_order_mark_stays_and_is_no_hindrance() -> None:
    mark = "\ufeff"
    assert migrate(f"{mark}vars: {{ a: 1 }}\n{SMALL}").text == f"{mark}workload: {{ a: 1 }}\n{SMALL}"


def test_what_may_be_read_from_a_refused_playbook_compiles_no_further_than_its_older_words() -> None:
    text = f"{SMALL}    eval: []\n"
    codes = [
        found.code
        for found in compile_playbook(migrate(text).text, "x").diagnostics
        if found.severity is Severity.ERROR
    ]
    assert codes == ["NOE701"]


def test_a_pass_that_never_ends_is_stopped() -> None:
    def forever(document: Document) -> Iterator[Rewrite]:
        end = len(document.source.text)
        yield Rewrite("NOE601", Span(1, 1, 1, 1), "added a line", (Edit(end, end, "# more\n"),))

    run = running(SMALL)
    run.apply(forever)
    assert run.text == SMALL + "# more\n" * ROUNDS_MAX


def test_rewrites_that_break_the_text_are_refused_and_the_others_are_done() -> None:
    def two(document: Document) -> Iterator[Rewrite]:
        text = document.source.text
        yield Rewrite("NOE601", Span(1, 1, 1, 1), "broke the text", (Edit(0, 0, "]"),))
        if "# fine" not in text:
            yield Rewrite("NOE602", Span(2, 1, 2, 1), "added a line", (Edit(len(text), len(text), "# fine\n"),))

    run = running(SMALL)
    run.apply(two)
    assert run.text == f"{SMALL}# fine\n"
    assert [change.code for change in run.applied] == ["NOE602"]
    assert [refusal.code for refusal in run.refused] == ["NOE601"]
