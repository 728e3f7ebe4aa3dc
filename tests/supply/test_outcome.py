"""What came of work, with whatever went wrong as a value."""

import asyncio

import pytest

from noetl.supply.outcome import Escaped, outcome


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


def test_work_that_was_cancelled_by_others_than_us_has_that_for_an_outcome() -> None:
    trouble = asyncio.run(outcome(answered(asyncio.CancelledError())))
    assert isinstance(trouble, Escaped)
    assert str(trouble) == "CancelledError: nobody had asked for it"
    assert isinstance(trouble.__cause__, asyncio.CancelledError)


@pytest.mark.parametrize("order", [SystemExit(3), BaseExceptionGroup("two", [SystemExit(3), ZeroDivisionError()])])
def test_what_would_end_the_process_ends_its_work_alone(order: BaseException) -> None:
    trouble = asyncio.run(outcome(answered(order)))
    assert isinstance(trouble, Escaped)
    assert str(trouble) == f"{type(order).__name__}: {order}"


def test_who_is_cancelled_has_no_outcome() -> None:
    async def test() -> bool:
        waiting = asyncio.create_task(outcome(asyncio.Event().wait()))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])
        return waiting.cancelled()

    assert asyncio.run(test())


@pytest.mark.parametrize("order", [KeyboardInterrupt(), GeneratorExit()])
def test_an_order_to_stop_is_no_outcome(order: BaseException) -> None:
    with pytest.raises(type(order)):
        asyncio.run(outcome(answered(order)))
