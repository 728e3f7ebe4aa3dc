"""The verbs of the program, as data: a verb's module is imported only when the verb is chosen."""

VERBS: tuple[tuple[str, str, str], ...] = (
    ("run", "run a playbook here, with nothing else installed", "noetl.cli.run"),
    ("executions", "list what ran in this project", "noetl.cli.executions"),
    ("status", "where an execution stands, and what it waits for", "noetl.cli.status"),
    ("events", "the log of an execution", "noetl.cli.events"),
    ("result", "what an execution gave", "noetl.cli.result"),
    ("logs", "what the tools of an execution printed", "noetl.cli.logs"),
    ("cancel", "end an execution", "noetl.cli.cancel"),
    ("rerun", "run an execution again without what had succeeded", "noetl.cli.rerun"),
    ("validate", "check playbooks and say where, what and how to fix it", "noetl.cli.validate"),
    ("explain", "what a rule means, why it is there, and the cure", "noetl.cli.explain"),
    ("fix", "apply the automatic fixes", "noetl.cli.fix"),
    ("migrate", "rewrite older dialects in today's words", "noetl.cli.migrate"),
    ("graph", "draw a playbook as mermaid, dot or svg", "noetl.cli.graph"),
    ("schema", "print the JSON Schema for editors", "noetl.cli.schema"),
    ("init", "start a small project that works", "noetl.cli.init"),
    ("completion", "print the completion script of a shell", "noetl.cli.completion"),
)

# Verbs of the program that is to come. People who try them learn that they are early, not that they mistyped.
PLANNED: tuple[str, ...] = (
    "server",
    "worker",
    "up",
    "register",
    "catalog",
    "replay",
    "why",
    "debug",
    "test",
    "credential",
    "token",
    "context",
)
