"""What a worker is given to work with."""

from collections.abc import Mapping
from typing import NamedTuple

from noetl.ports import Credentials, ResultStore, System, Tool


class Equipment(NamedTuple):
    """`tools` are by kind."""

    tools: Mapping[str, Tool]
    results: ResultStore
    credentials: Credentials
    system: System
