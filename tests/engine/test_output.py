"""How templates see an output, in both dialects."""

from noetl.engine.output import Error, Loop, Output, Status, failed, result, view
from noetl.engine.reference import Reference
from noetl.playbook.model import Dialect

PAGE = Output(data=[1], blocks={"http": {"status": 200, "headers": {"a": "b"}}})


def seen_of(output: Output, kind: str, dialect: Dialect = Dialect.CANONICAL) -> dict[str, object]:
    found = view(output, kind, dialect)
    assert isinstance(found, dict)
    return found


def test_a_template_sees_every_part_and_the_block_of_the_kind() -> None:
    seen = seen_of(PAGE, "http")
    assert (seen["status"], seen["data"], seen["ref"], seen["error"]) == ("ok", [1], None, None)
    assert seen["http"] == {"status": 200, "headers": {"a": "b"}}
    assert "result" not in seen
    assert "loop" not in seen


def test_a_loops_output_has_its_counts() -> None:
    seen = seen_of(Output(loop=Loop(3, 1, 1, 1)), "")
    assert seen["loop"] == {"total": 3, "succeeded": 1, "failed": 1, "skipped": 1}


def test_a_reference_stays_a_reference() -> None:
    reference = Reference("blob", {"sha256": "1"})
    assert seen_of(Output(ref=reference), "http")["ref"] is reference


def test_v10_sees_the_body_beside_the_status_for_http_only() -> None:
    seen = seen_of(PAGE, "http", Dialect.V10)
    assert seen["result"] == {"data": [1], "status_code": 200, "headers": {"a": "b"}}
    assert result(PAGE, "python") == [1]


def test_v10_sees_nulls_where_no_answer_came() -> None:
    assert result(Output(), "http") == {"data": None, "status_code": None, "headers": None}


def test_a_failure_is_an_output() -> None:
    output = failed("connect", "refused", retryable=True, details={"host": "x"})
    assert output.status is Status.ERROR
    seen = seen_of(output, "http")
    assert seen["error"] == {"kind": "connect", "message": "refused", "retryable": True, "details": {"host": "x"}}


def test_the_details_of_an_error_have_names_or_any_other_form() -> None:
    forms: list[object] = [{"host": "x"}, ["x"], None]
    assert [dict(Error("connect", "refused", details=form).named) for form in forms] == [{"host": "x"}, {}, {}]
