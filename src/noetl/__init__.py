"""NoETL: playbooks that orchestrate APIs, databases and scripts."""

__version__ = "0.1.0"
