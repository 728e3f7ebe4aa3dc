"""A text that is not YAML."""

from noetl.playbook.diagnostics import Severity
from noetl.playbook.rules.rule import Rule

RULE = Rule("NOE002", "yaml-syntax", Severity.ERROR, problem="syntax")
