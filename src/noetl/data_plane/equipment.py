"""What a worker is given to work with."""

from collections.abc import Mapping
from typing import NamedTuple

from noetl.ports import Credentials, ResultStore, System, Tool
from noetl.supply.programs import Ready


class Equipment(NamedTuple):
    """`tools` are by kind. `ready` are programs that others of this process may have made ready."""

    tools: Mapping[str, Tool]
    results: ResultStore
    credentials: Credentials
    system: System
    ready: Ready | None = None
