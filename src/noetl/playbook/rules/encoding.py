"""A text that is not UTF-8, or holds a character that YAML forbids."""

from noetl.playbook.diagnostics import Severity
from noetl.playbook.rules.rule import Rule

RULE = Rule("NOE001", "encoding", Severity.ERROR, problem="encoding")
