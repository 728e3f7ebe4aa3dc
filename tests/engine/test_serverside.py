"""What templates on the server see."""

from noetl.engine.events import Trigger
from noetl.engine.output import Output
from noetl.engine.serverside import entering, leaving
from noetl.engine.state import StepRun
from tests.engine.driver import Driver
from tests.engine.texts import playbook

STEP = "- { step: s, tool: { kind: noop } }"
DONE = Trigger("step.done", "s", "success", "s#1")


def names(version: str) -> tuple[set[str], set[str]]:
    driver = Driver(playbook(STEP, head="workload: { key: 1 }", version=version))
    run = StepRun("s#1", "s", {"a": 1}, DONE, boundary=DONE, output=Output(data=1))
    return (
        set(entering(driver.program, driver.state, {}, DONE)),
        set(leaving(driver.program, driver.state, run, {}, {})),
    )


def test_todays_documents_see_todays_words() -> None:
    before, after = names("v2")
    assert before == {"workload", "ctx", "input", "execution_id", "event", "key"}
    assert after == before | {"step", "output", "s"}


def test_v10_documents_see_the_older_words_too() -> None:
    (before, after), (older_before, older_after) = names("v2"), names("v10")
    assert older_before == before | {"args"}
    assert older_after == after | {"args", "outcome"}
