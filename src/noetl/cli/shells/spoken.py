"""What all shells are told: the verbs with their summaries, and the words that may stand at a place."""

from collections.abc import Sequence

from noetl.cli.arguments import Command, Takes
from noetl.playbook.rules import RULES
from noetl.playbook.rules.needs import NEEDS

Commands = Sequence[tuple[str, Command]]
"""Each verb's one-line summary and its words."""


def known_words(takes: Takes, choices: Sequence[str]) -> str:
    """The words that may stand there, where they are known."""
    return " ".join(rule.code for rule in (*RULES, *NEEDS)) if takes is Takes.RULE else " ".join(choices)


def quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
