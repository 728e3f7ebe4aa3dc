"""Nesting beyond the bound."""

from noetl.playbook.diagnostics import Severity
from noetl.playbook.rules.rule import Rule

RULE = Rule("NOE007", "depth", Severity.ERROR, problem="depth")
