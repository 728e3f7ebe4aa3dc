"""What a sound playbook may need and a machine may lack. Nothing here is a mistake of the author's.

`noetl validate` never speaks of it: it is told before a run starts, by the program that looked.
"""

from noetl.playbook.diagnostics import Severity
from noetl.playbook.rules.rule import Rule

KIND_NOT_HERE = Rule("NOE951", "kind-not-here", Severity.ERROR)
CREDENTIAL_NOT_HERE = Rule("NOE952", "credential-not-here", Severity.ERROR)
PLAYBOOK_NOT_HERE = Rule("NOE953", "playbook-not-here", Severity.ERROR)
INTERPRETER_NOT_HERE = Rule("NOE954", "interpreter-not-here", Severity.ERROR)

NEEDS: tuple[Rule, ...] = (KIND_NOT_HERE, CREDENTIAL_NOT_HERE, PLAYBOOK_NOT_HERE, INTERPRETER_NOT_HERE)
