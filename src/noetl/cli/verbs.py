"""The verbs of the program, as data: a verb's module is imported only when the verb is chosen."""

VERBS: tuple[tuple[str, str, str], ...] = (
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
    "run",
    "server",
    "worker",
    "up",
    "register",
    "catalog",
    "executions",
    "status",
    "events",
    "logs",
    "result",
    "cancel",
    "rerun",
    "replay",
    "why",
    "debug",
    "test",
    "credential",
    "token",
    "context",
)
