"""What came of work, with whatever went wrong as a value."""

import asyncio

import pytest

from noetl.supply.outcome import outcome


async def answered(answer: object) -> object:
    if isinstance(answer, BaseException):
        raise answer
    return answer


def test_work_that_succeeds_has_its_answer_for_an_outcome() -> None:
    assert asyncio.run(outcome(answered("done"))) == "done"


def test_a_bug_is_an_outcome_and_keeps_the_place_where_it_happened() -> None:
    bug = asyncio.run(outcome(answered(ZeroDivisionError("by zero"))))
    assert isinstance(bug, ZeroDivisionError)
    assert bug.__traceback__ is not None
    assert bug.__traceback__.tb_next is not None
    assert bug.__traceback__.tb_next.tb_frame.f_code.co_name == "answered"


@pytest.mark.parametrize("order", [asyncio.CancelledError(), KeyboardInterrupt(), SystemExit()])
def test_an_order_to_stop_is_no_outcome(order: BaseException) -> None:
    with pytest.raises(type(order)):
        asyncio.run(outcome(answered(order)))
