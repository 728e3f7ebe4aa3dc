"""What only shows beside other files, given values, or a machine. A playbook that has it may be sound all the same.

`noetl run` tells it before anything starts. `noetl validate` tells what it sees in the files that a playbook calls.
"""

from noetl.playbook.diagnostics import Severity
from noetl.playbook.rules.rule import Rule

KIND_NOT_HERE = Rule("NOE951", "kind-not-here", Severity.ERROR)
CREDENTIAL_NOT_HERE = Rule("NOE952", "credential-not-here", Severity.ERROR)
PLAYBOOK_NOT_HERE = Rule("NOE953", "playbook-not-here", Severity.ERROR)
INTERPRETER_NOT_HERE = Rule("NOE954", "interpreter-not-here", Severity.ERROR)
VALUE_NOT_GIVEN = Rule("NOE955", "value-not-given", Severity.WARNING)
VALUE_UNFIT = Rule("NOE956", "value-unfit", Severity.WARNING)
CODE_UNREADABLE = Rule("NOE957", "code-unreadable", Severity.WARNING)
CREDENTIAL_EXPOSED = Rule("NOE958", "credential-exposed", Severity.WARNING)
FILE_NOT_HERE = Rule("NOE959", "file-not-here", Severity.ERROR)
UNKNOWN_RETURN_STEP = Rule("NOE961", "unknown-return-step", Severity.ERROR)
UNKNOWN_CALL_INPUT = Rule("NOE962", "unknown-call-input", Severity.WARNING)
RIVAL_PLAYBOOKS = Rule("NOE963", "rival-playbooks", Severity.WARNING)

NEEDS: tuple[Rule, ...] = (
    KIND_NOT_HERE,
    CREDENTIAL_NOT_HERE,
    PLAYBOOK_NOT_HERE,
    INTERPRETER_NOT_HERE,
    VALUE_NOT_GIVEN,
    VALUE_UNFIT,
    CODE_UNREADABLE,
    CREDENTIAL_EXPOSED,
    FILE_NOT_HERE,
    UNKNOWN_RETURN_STEP,
    UNKNOWN_CALL_INPUT,
    RIVAL_PLAYBOOKS,
)
