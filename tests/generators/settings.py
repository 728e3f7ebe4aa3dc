"""What a generated part may refer to, and which features the whole playbook may use."""

import msgspec

from noetl.playbook.kinds import KINDS
from tests.generators.values import Scene


class Features(msgspec.Struct, frozen=True):
    """Without `cycles`, arcs and jumps lead forward only, so that every run comes to an end."""

    steps_max: int = 4
    tasks_max: int = 3
    kinds: tuple[str, ...] = tuple(kind.name for kind in KINDS)
    cycles: bool = True
    sugar: bool = True
    loops: bool = True
    nesting_max: int = 2


class Setting(msgspec.Struct, frozen=True):
    """The surroundings of one pipeline. `targets` are the `set` targets its tasks may write."""

    features: Features
    scene: Scene
    targets: tuple[str, ...] = ()
    blocks: tuple[str, ...] = ()
    jumps: tuple[str, ...] = ()
