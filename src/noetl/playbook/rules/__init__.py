"""The checks, one file each. A rule is found here and nowhere else: this list is the registry."""

from noetl.playbook.rules import (
    dangling_arc,
    duplicate_key,
    unknown_key,
)
from noetl.playbook.rules.rule import Rule

RULES: tuple[Rule, ...] = (
    duplicate_key.RULE,
    unknown_key.RULE,
    dangling_arc.RULE,
)
