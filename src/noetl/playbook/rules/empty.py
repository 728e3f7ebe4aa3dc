"""A file without a playbook."""

from noetl.playbook.diagnostics import Severity
from noetl.playbook.rules.rule import Rule

RULE = Rule("NOE010", "empty", Severity.ERROR, problem="empty")
