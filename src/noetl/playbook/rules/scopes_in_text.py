"""Finds `{{ … }}` in texts that are no templates, where it reads a scope and so was meant to be one."""

import re
from functools import lru_cache

from noetl.expressions.sites import SCOPE_WORDS
from noetl.expressions.template import parse
from noetl.playbook.rules.rule import Part

TAGS_MAX = 1_000
"""Tags looked at in one text."""

_TAG = r"\{\{[^{}]*\}\}"
_ALONE = frozenset({"execution_id", "_prev"})
"""Scope words that are read without a key behind them."""


def find_tag(text: str) -> Part | None:
    """The first tag that reads a scope. `{{1}}` or `{{name}}` of another language is none."""
    if "{{" not in text:
        return None
    for number, match in enumerate(re.finditer(_TAG, text)):
        if number == TAGS_MAX:
            return None
        if _reads_scope(match[0]):
            return Part(match.start(), match.end())
    return None


@lru_cache(maxsize=256)
def _reads_scope(tag: str) -> bool:
    template = parse(tag)
    return not template.problems and any(
        name.root in SCOPE_WORDS and (name.segments or name.root in _ALONE) for name in template.names
    )
