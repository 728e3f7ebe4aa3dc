"""The playbook as a Petri net: what its structure alone tells about every run, guards taken as unknown."""

from noetl.playbook.net.analysis import analyse
from noetl.playbook.net.findings import NetFinding

__all__ = ["NetFinding", "analyse"]
