"""A key that is not text."""

from noetl.playbook.diagnostics import Severity
from noetl.playbook.rules.rule import Rule

RULE = Rule("NOE004", "key-type", Severity.ERROR, problem="key_type")
