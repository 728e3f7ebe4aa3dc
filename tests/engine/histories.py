"""Logs that were written once and must fold to the same state for ever.

    python -m tests.engine.histories     writes the histories that are missing; what is there is never written again

A history is a playbook, its log and what the log comes to: `name.yaml`, `name.jsonl`, `name.json`.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from noetl.engine.codec import decode
from noetl.engine.envelope import Event
from noetl.engine.evolve import fold
from noetl.engine.program import Program
from noetl.engine.reference import encode_value
from noetl.engine.state import State
from noetl.playbook.compile import compile_playbook
from tests.engine.driver import Driver
from tests.engine.scenarios import Scenario, scenarios
from tests.engine.test_spilling import Spilling

FOLDER = Path(__file__).parents[1] / "histories"


def names() -> list[str]:
    return sorted(file.stem for file in FOLDER.glob("*.jsonl"))


def folded(name: str) -> Iterator[State]:
    """The state after each event of a history."""
    playbook = compile_playbook((FOLDER / f"{name}.yaml").read_bytes(), f"{name}.yaml").playbook
    assert playbook is not None
    program = Program(playbook)
    state: State | None = None
    for line in (FOLDER / f"{name}.jsonl").read_bytes().splitlines():
        event = decode(line)
        assert isinstance(event, Event)
        state = fold(program, event.execution_id, [event.fact], state)
        assert state.seq == event.seq
        yield state


def expected(name: str) -> object:
    return msgspec.json.decode((FOLDER / f"{name}.json").read_bytes())


def ended(state: State) -> object:
    """What a history is compared by: nothing that a later version could keep in another way."""
    return msgspec.json.decode(
        encode_value(
            {
                "status": state.status,
                "ctx": state.ctx,
                "output": state.output,
                "outputs": state.outputs,
                "error": state.error,
                "seq": state.seq,
            }
        )
    )


def write(name: str, scenario: Scenario) -> None:
    if name == "references":
        driver: Driver = Spilling(scenario.text, scenario.tool).run()
    else:
        driver = scenario.run()
    (FOLDER / f"{name}.yaml").write_text(scenario.text, encoding="utf-8")
    (FOLDER / f"{name}.jsonl").write_bytes(b"".join(line + b"\n" for line in driver.history()))
    state = msgspec.json.format(msgspec.json.encode(ended(driver.state)), indent=2)
    (FOLDER / f"{name}.json").write_bytes(state + b"\n")


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, scenario in scenarios().items():
        if name not in names():
            write(name, scenario)


if __name__ == "__main__":
    main()
