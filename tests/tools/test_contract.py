import asyncio
import os

import pytest

from noetl.engine.output import Output
from noetl.playbook.vocabulary import Vocabulary
from noetl.ports import Console, ToolCall
from noetl.tools.contract import CHECKS, Check, Subject, it_answers_with_data_that_is_json, name_of
from noetl.tools.noop import Noop
from noetl.tools.python import Python
from noetl.tools.script import Script
from tests.tools.calling import call_of

KINDS = Vocabulary().kinds

SUBJECTS = (
    Subject(KINDS["noop"], Noop, works=call_of("noop", {})),
    Subject(
        KINDS["python"],
        lambda: Python(os.environ),
        works=call_of("python", {"code": "result = x + 1"}, {"x": 1}),
        breaks=(
            call_of("python", {}),
            call_of("python", {"code": "1 / 0"}),
            call_of("python", {"code": "import os; os._exit(3)"}),
            call_of("python", {"file": "nowhere.py"}),
            call_of("python", {"code": "result = 1"}, python="nowhere/python"),
        ),
        lasts=call_of("python", {"code": "import time; time.sleep(1000)"}),
        block="py",
    ),
    Subject(
        KINDS["script"],
        lambda: Script(os.environ),
        works=call_of("script", {"script": "echo $x"}, {"x": "a"}),
        breaks=(
            call_of("script", {}),
            call_of("script", {"script": "exit 3"}),
            call_of("script", {"script": "kill -9 $$"}),
            call_of("script", {"script": "echo no", "parse": "json"}),
            call_of("script", {"script": "echo", "interpreter": "no-such-program"}),
            call_of("script", {"file": "nowhere.sh"}),
        ),
        lasts=call_of("script", {"script": "sleep 1000 & sleep 1000"}),
        block="process",
    ),
)


@pytest.mark.parametrize("check", CHECKS, ids=name_of)
@pytest.mark.parametrize("subject", SUBJECTS, ids=name_of)
async def test_a_tool_keeps_the_contract(subject: Subject, check: Check) -> None:
    assert check in CHECKS
    await check(subject)


class Leaking:
    """A tool as no tool may be."""

    async def run(self, call: ToolCall, console: Console) -> Output:  # noqa: ARG002
        raise asyncio.CancelledError

    async def close(self) -> None:
        return


async def test_a_tool_that_lets_a_cancellation_out_breaks_the_contract() -> None:
    subject = Subject(KINDS["noop"], Leaking, works=call_of("noop", {}))
    with pytest.raises(AssertionError, match="the tool let a CancelledError out"):
        await it_answers_with_data_that_is_json(subject)
