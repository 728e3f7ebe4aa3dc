"""An alias without an anchor, inside itself, or that expands beyond all bounds."""

from noetl.playbook.diagnostics import Severity
from noetl.playbook.rules.rule import Rule

RULE = Rule("NOE006", "alias", Severity.ERROR, problem="alias")
