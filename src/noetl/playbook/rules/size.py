"""A file, a text or a number of values beyond the bound."""

from noetl.playbook.diagnostics import Severity
from noetl.playbook.rules.rule import Rule

RULE = Rule("NOE008", "size", Severity.ERROR, problem="size")
