"""The same key twice in one mapping."""

from noetl.playbook.diagnostics import Severity
from noetl.playbook.rules.rule import Rule

RULE = Rule("NOE003", "duplicate-key", Severity.ERROR, problem="duplicate_key")
