"""The key by which others tell a task that runs again from one that runs anew."""

import msgspec

from noetl.ports.tools import KEY_CHARS_MAX, ToolCall
from noetl.processes import task_facts

CALL = ToolCall("python", {}, {}, {}, "x1", "pay", "post", "pay#1.post/2", 2, "pay#1.post/1")


def test_the_key_is_that_of_the_visit_and_of_its_execution() -> None:
    other = msgspec.structs.replace(CALL, execution_id="x2")
    assert CALL.idempotency_key == "x1.pay#1.post/1"
    assert other.idempotency_key == "x2.pay#1.post/1"


def test_a_process_knows_the_key_that_a_request_carries() -> None:
    assert task_facts(CALL)["NOETL_IDEMPOTENCY_KEY"] == CALL.idempotency_key


def test_a_key_that_no_header_could_carry_is_a_digest() -> None:
    keys = ["k" * KEY_CHARS_MAX, "k" * (KEY_CHARS_MAX + 1), "größe"]
    found = {msgspec.structs.replace(CALL, key=key).idempotency_key for key in keys}
    assert {len(key) for key in found} == {64}
    assert len(found) == 3
