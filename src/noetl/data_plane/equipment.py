"""What a worker is given to work with."""

from collections.abc import Mapping
from typing import NamedTuple

from noetl.ports import Credentials, EventLog, ResultStore, System, Tool
from noetl.supply.programs import Ready


class Equipment(NamedTuple):
    """`tools` are by kind. From the `log` the output of a large loop is read back.

    `ready` are programs that others of this process may have made ready.
    """

    tools: Mapping[str, Tool]
    results: ResultStore
    log: EventLog
    credentials: Credentials
    system: System
    ready: Ready | None = None
