"""A second document in one file."""

from noetl.playbook.diagnostics import Severity
from noetl.playbook.rules.rule import Rule

RULE = Rule("NOE009", "documents", Severity.ERROR, problem="documents")
