"""What a worker is given to work with."""

from collections.abc import Mapping
from typing import NamedTuple

from noetl.ports import Credentials, ResultStore, System, Tool
from noetl.supply.programs import KindsOf, built_in


class Equipment(NamedTuple):
    """`tools` are by kind, and `kinds_of` says which kinds a playbook may name."""

    tools: Mapping[str, Tool]
    results: ResultStore
    credentials: Credentials
    system: System
    kinds_of: KindsOf = built_in
