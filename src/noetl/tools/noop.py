"""A task that does nothing, for its rules and its `set`."""

from noetl.engine.output import NOTHING, Output
from noetl.ports import Console, ToolCall


class Noop:
    async def run(self, call: ToolCall, console: Console) -> Output:  # noqa: ARG002
        return NOTHING

    async def close(self) -> None:
        return
