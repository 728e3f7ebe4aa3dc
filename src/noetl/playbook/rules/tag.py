"""A YAML tag, such as `!!python`."""

from noetl.playbook.diagnostics import Severity
from noetl.playbook.rules.rule import Rule

RULE = Rule("NOE005", "tag", Severity.ERROR, problem="tag")
